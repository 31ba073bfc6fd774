"""The vocabulary of `explained.txt`: each predicate says one thing about a query and its four replies."""
PREDICATES = {}


def predicate(function):
    PREDICATES[function.__name__] = function
    return function
