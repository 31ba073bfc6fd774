/* A resolver that knows every name: A 203.0.113.7 with a TTL, no AAAA with an SOA of as many seconds.
 *
 * usage: upstream PORT TTL
 * Answers at once over UDP on 127.0.0.1, and prints how many queries it had when it is told to end. For as long as the TTL
 * after its first query it gives TTLs between 5 s and that, as a resolver does that has had the records for a while:
 * else all that is asked at once would expire at once. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static void end(int signal) { (void)signal; ended = 1; }

static uint8_t *record(uint8_t *at, int type, uint32_t ttl, const void *data, int length) {
    const uint8_t head[] = {0xc0, 12, 0, (uint8_t)type, 0, 1, (uint8_t)(ttl >> 24), (uint8_t)(ttl >> 16), (uint8_t)(ttl >> 8),
                            (uint8_t)ttl, 0, (uint8_t)length};
    memcpy(at, head, sizeof head);
    memcpy(at + sizeof head, data, (size_t)length);
    return at + sizeof head + length;
}

int main(int count, char **words) {
    if (count != 3) { fprintf(stderr, "usage: upstream PORT TTL\n"); return 2; }
    uint32_t ttl = (uint32_t)atoi(words[2]);
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    int fd = socket(AF_INET, SOCK_DGRAM, 0), room = 1 << 22;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1])), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (bind(fd, (struct sockaddr *)&here, sizeof here)) { perror("bind"); return 1; }
    /* Its MINIMUM bounds nothing: the SOA's own TTL is what counts then. */
    uint8_t soa[2 + 20] = {0};
    memset(soa + 2, 0x7f, 20);
    unsigned long queries = 0;
    time_t began = 0;
    while (!ended) {
        uint8_t message[1500];
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        ssize_t octets = recvfrom(fd, message, 512, 0, (struct sockaddr *)&peer, &length);
        if (octets < 17) continue;
        if (!queries++) began = time(NULL);
        uint32_t left = time(NULL) - began < (time_t)ttl && ttl > 5 ? 5 + (uint32_t)rand() % (ttl - 4) : ttl;
        ssize_t at = 12;
        while (at < octets && message[at]) at += message[at] + 1;
        if (at + 5 > octets) continue;
        int is_a = message[at + 1] == 0 && message[at + 2] == 1;
        uint8_t *behind = message + at + 5;
        memset(message + 6, 0, 6);
        message[2] = 0x81; message[3] = 0x80;
        message[is_a ? 7 : 9] = 1;
        behind = is_a ? record(behind, 1, left, (const uint8_t[]){203, 0, 113, 7}, 4) : record(behind, 6, left, soa, sizeof soa);
        sendto(fd, message, (size_t)(behind - message), 0, (struct sockaddr *)&peer, length);
    }
    printf("%lu queries\n", queries);
    return 0;
}
