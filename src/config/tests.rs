//! What is read of each source, what is refused, and where it is said to stand.

use super::super::layer::{Form, read_variable};
use super::super::{AnyAnswer, EdeText, HttpTls, LogFormat};
use super::*;

fn settings(text: &str) -> Result<Settings, String> {
    let file = |layer| (Source::File { name: "tenured.toml".to_owned(), text: text.to_owned() }, layer);
    let layer = Layer::of_text(text, "tenured.toml");
    layer.and_then(|layer| Settings::of(vec![file(layer)])).map_err(|error| error.to_string())
}

fn read(text: &str) -> Result<Config, String> {
    settings(text).map(|settings| settings.config)
}

fn variables(pairs: &[(&str, &str)]) -> Result<Layer, String> {
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Layer::of_environment(pairs.into_iter()).map_err(|error| error.to_string())
}

#[test]
fn an_empty_file_gives_the_defaults() {
    let config = read("").expect("defaults");
    assert_eq!(config.dns.listen, ["127.0.0.1:5300".parse().expect("an address")]);
    assert_eq!(config.http.listen, "127.0.0.1:8053".parse().expect("an address"));
    assert_eq!(config.store.token_file(), Path::new("tenured.db.token"));
    assert_eq!((config.dns.edns_size, config.dns.any), (1232, AnyAnswer::Minimal));
    assert_eq!((config.dns.tcp_connections, config.dns.tcp_per_client), (10_000, None));
    assert_eq!(config.alias.upstreams, None);
    assert_eq!(Config::of_layer(Layer::default()), Ok(config), "defaults stand in two places");
}

#[test]
fn all_keys_are_read() {
    let config = read(
        r#"
        [dns]
        listen = ["192.0.2.1", "[2001:db8::1]:5353"]
        udp_threads = 2
        edns_size = 1400
        tcp_connections = 20000
        tcp_per_client = 50
        tcp_idle = 5
        nsid = "ns1"
        version = "none of yours"
        any = "full"
        nameservers = ["ns1.example.net", "ns2.example.net."]
        lame_duck = 0
        cookies = { enforce = true, secret_file = "cookie.secret" }
        [http]
        listen = "127.0.0.1:9053"
        tls = true
        [admin]
        listen = "192.0.2.7"
        [tls]
        certificate = "chain.pem"
        key = "key.pem"
        dot = ["192.0.2.1"]
        doq = ["192.0.2.1"]
        doh = ["192.0.2.1", "192.0.2.1:8443"]
        doh_path = "/dns"
        [store]
        path = "names.db"
        [zones]
        directory = "zones"
        [alias]
        upstreams = ["192.0.2.53"]
        trusted_zones = ["example.com"]
        trust_all_zones = true
        allow_private_targets = true
        probe_interval = 60
        lookups = 100
        owner_rate = 5
        owner_burst = 6
        max_targets = 7
        ede_text = "target"
        expose_type = true
        [alias.upstream.inside]
        servers = ["192.0.2.54", "192.0.2.55:5353"]
        [alias.owners."k8s:prod"]
        allow = ["proxy.test"]
        deny = ["bad.proxy.test"]
        [log]
        format = "json"
        queries = 1000
        "#,
    )
    .expect("all keys");
    assert_eq!(config.dns.listen[0].to_string(), "192.0.2.1:53");
    assert_eq!(config.dns.listen[1].to_string(), "[2001:db8::1]:5353");
    assert_eq!((config.dns.tcp_connections, config.dns.tcp_per_client), (20_000, Some(50)));
    assert_eq!(config.dns.tcp_idle, 5);
    assert_eq!(config.dns.nameservers[0].to_string(), "ns1.example.net.");
    assert!(config.dns.cookies.enforce);
    assert_eq!((config.log.format, config.log.queries, config.dns.lame_duck), (LogFormat::Json, 1_000, 0));
    assert_eq!((config.http.tls, config.tls.doh_path.as_str()), (HttpTls::On, "/dns"));
    let ports =
        |addresses: &[std::net::SocketAddr]| addresses.iter().map(std::net::SocketAddr::port).collect::<Vec<_>>();
    assert_eq!(
        (ports(&config.tls.dot), ports(&config.tls.doq), ports(&config.tls.doh)),
        (vec![853], vec![853], vec![443, 8443])
    );
    assert_eq!(config.admin.map(|admin| admin.port()), Some(8053));
    assert_eq!(config.tls.identity.as_ref().map(|identity| identity.key.as_path()), Some(Path::new("key.pem")));
    assert_eq!(config.alias.upstreams.as_ref().expect("one")[0].to_string(), "192.0.2.53:53");
    assert_eq!(config.alias.groups["inside"][1].to_string(), "192.0.2.55:5353");
    let lists = &config.alias.owners["k8s:prod"];
    assert_eq!((lists.allow.len(), lists.deny[0].to_string().as_str()), (1, "bad.proxy.test."));
    let alias = &config.alias;
    assert_eq!((alias.probe_interval, alias.lookups, alias.owner_rate), (60, 100, 5));
    assert_eq!((alias.owner_burst, alias.max_targets, alias.ede_text), (6, 7, EdeText::Target));
    assert!(config.alias.expose_type);
    assert_eq!(config.zones.as_deref(), Some(Path::new("zones")));
}

#[test]
fn an_error_names_file_line_and_key_and_what_is_allowed() {
    for (text, expected) in [
        ("[dns]\nlisten = [\"127.0.0.1\"]\nlitsen = 1\n", &["tenured.toml:3: ", "`litsen`", "`listen`", "`nsid`"][..]),
        ("\n[dsn]\n", &["tenured.toml:2: ", "`dsn`", "`dns`"]),
        ("[dns]\nany = \"some\"\n", &["tenured.toml:2: any: ", "`some`", "`minimal`"]),
        ("[http]\n\nlisten = \"localhost\"\n", &["tenured.toml:3: listen: ", "`localhost`", "8053"]),
        ("[dns]\nnameservers = [\"a..b\"]\n", &["tenured.toml:2: nameservers: ", "a..b"]),
        ("[dns]\nudp_threads = \"two\"\n", &["tenured.toml:2: udp_threads: "]),
        ("[dns\n", &["tenured.toml:1: "]),
        ("[dns]\nedns_size = 100\n", &["tenured.toml:2: ", "dns.edns_size", "512"]),
        ("[dns]\nlisten = []\n", &["tenured.toml:2: ", "dns.listen"]),
        ("[http]\ntls = true\n", &["tenured.toml:2: ", "http.tls", "tls.certificate"]),
        ("[tls]\ndot = [\"192.0.2.1\"]\n", &["tenured.toml:2: ", "tls.dot", "tls.key"]),
        ("[tls]\nkey = \"k\"\n", &["tenured.toml:2: ", "tls.certificate"]),
        ("[tls]\ndoh_path = \"dns\"\n", &["tenured.toml:2: ", "/dns-query"]),
        ("[dns.cookies]\nsecret = \"a\"\nsecret_file = \"b\"\n", &["tenured.toml:2: ", "secret_file"]),
        ("[dns]\ntcp_per_client = 0\n", &["dns.tcp_per_client", "1 to"]),
        ("[alias]\nprobe_interval = 59\n", &["alias.probe_interval", "60 to 3600"]),
        ("[alias.upstream.\"a b\"]\nservers = []\n", &["tenured.toml:1: ", "alias.upstream.\"a b\"", "letters"]),
        ("[alias]\nupstreams = []\n[alias.upstream.default]\nservers = []\n", &["alias.upstream.default"]),
    ] {
        let error = read(text).expect_err(text);
        for part in expected {
            assert!(error.contains(part), "{error:?} has no {part:?}");
        }
    }
}

#[test]
fn the_environment_goes_before_the_file_and_names_its_variable() {
    let low = Layer::of_text("[http]\nlisten = \"192.0.2.1:80\"\n[store]\npath = \"a.db\"\n", "f").expect("a file");
    let high = variables(&[
        ("TENURED_HTTP__LISTEN", "192.0.2.2:80"),
        ("TENURED_DNS__COOKIES__ENFORCE", "true"),
        ("TENURED_ALIAS__UPSTREAMS", "192.0.2.53, 192.0.2.54:5353"),
        ("TENURED_URL", "the client's"),
        ("HOME", "another's"),
    ]);
    let all = vec![
        (Source::File { name: "f".to_owned(), text: String::new() }, low),
        (Source::Environment, high.expect("variables")),
    ];
    let settings = Settings::of(all).expect("a configuration");
    let sources = |key: &str| settings.entries().iter().find(|entry| entry.key == key).map(|one| one.source.clone());
    assert_eq!(sources("http.listen").as_deref(), Some("environment variable TENURED_HTTP__LISTEN"));
    assert_eq!(sources("store.path").as_deref(), Some("f"));
    assert_eq!(sources("dns.any").as_deref(), Some("default"));
    let config = settings.config;
    assert_eq!(config.http.listen.to_string(), "192.0.2.2:80");
    assert_eq!(config.store.path, Path::new("a.db"));
    assert!(config.dns.cookies.enforce);
    assert_eq!(config.alias.upstreams.expect("two").len(), 2);
    for (variable, value) in [
        ("TENURED_DNS__LITSEN", "1"),
        ("TENURED_DNS__UDP_THREADS", "two"),
        ("TENURED_HTTP__LISTEN", "x"),
        ("TENURED_LOG__FORMAT", "xml"),
    ] {
        let error = variables(&[(variable, value)]).expect_err(variable);
        assert!(error.contains(variable), "{error}");
    }
}

#[test]
fn every_key_of_the_environment_is_a_key_of_the_file() {
    for (path, form, _) in KEYS {
        let value = match (form, path[path.len() - 1]) {
            (Form::Number, _) => "1024",
            (Form::Flag, _) => "true",
            (_, "any") => "full",
            (_, "ede_text") => "none",
            (_, "format") => "json",
            (Form::Text | Form::List, _) => "192.0.2.1",
        };
        read_variable(path, *form, value).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    }
}

#[test]
fn a_variable_out_of_bounds_is_named() {
    let layer = variables(&[("TENURED_DNS__EDNS_SIZE", "100")]).expect("a number");
    let error = Settings::of(vec![(Source::Environment, layer)]).expect_err("too small").to_string();
    assert!(error.contains("TENURED_DNS__EDNS_SIZE: dns.edns_size: from 512"), "{error}");
}

#[test]
fn differences_name_the_key_both_values_and_when_they_take_effect() {
    let before = settings("[dns]\nnsid = \"a\"\n[dns.cookies]\nsecret = \"one\"\n").expect("good");
    let after = settings("[dns]\nnsid = \"b\"\nudp_threads = 2\n[dns.cookies]\nsecret = \"two\"\n").expect("good");
    assert_eq!(before.differences(&before), []);
    let found = before.differences(&after);
    let shown: Vec<(&str, Option<&str>, Option<&str>, Effect)> =
        found.iter().map(|one| (one.key.as_str(), one.before.as_deref(), one.after.as_deref(), one.effect)).collect();
    assert_eq!(
        shown,
        [
            ("dns.cookies.secret", Some("(secret)"), Some("(secret)"), Effect::Now),
            ("dns.nsid", Some("\"a\""), Some("\"b\""), Effect::Now),
            ("dns.udp_threads", None, Some("2"), Effect::Restart),
        ]
    );
}

#[test]
fn each_key_is_set_or_named_as_not_set_and_no_secret_is_shown() {
    let settings = settings("[dns.cookies]\nsecret = \"e5e9\"\n").expect("good");
    assert_eq!(settings.entries().len() + settings.unset().len(), KEYS.len());
    assert!(settings.entries().iter().all(|entry| !entry.shown().contains("e5e9")));
}
