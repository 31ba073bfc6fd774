//! Octets as a message, through the whole query path, against a Snapshot with something of everything.

use std::cell::RefCell;

use tenured::answer::{AnyPolicy, Outcome, Patience, Rules, Transport};
use tenured::wire::cookie::CookieSecrets;
use tenured::zone::snapshot::Snapshot;

use crate::asking::reply::{Reply, flag};
use crate::asking::sound::check_reply;
use crate::asking::{Asker, FORMER, SECRET, rich, rules};

thread_local! {
    static ASKED: RefCell<Asked> = RefCell::new(Asked::new());
}

/// What is asked, and by whom: by default, and with all that a configuration can add.
struct Asked {
    snapshot: Snapshot,
    askers: [Asker; 2],
}

impl Asked {
    fn new() -> Asked {
        let mut full = Rules::new(CookieSecrets::new(SECRET, Some(FORMER)));
        full.any = AnyPolicy::Full;
        full.nsid = Some(b"ns1".to_vec());
        full.version = Some(b"a version".to_vec());
        full.enforce_cookies = true;
        full.trust.all = true;
        Asked { snapshot: rich::snapshot(), askers: [Asker::new(rules()), Asker::new(full)] }
    }
}

/// All of the input is the message.
pub fn run(sent: &[u8]) {
    ASKED.with_borrow_mut(|asked| {
        for asker in &mut asked.askers {
            for transport in [Transport::Udp, Transport::Tcp] {
                asker.patience = Patience::Wait;
                let (outcome, octets) = asker.send(&asked.snapshot, sent, transport);
                let first = check(&outcome, octets, sent, transport);
                let pending = matches!(outcome, Outcome::Pending(_));
                asker.patience = Patience::Ended;
                let (outcome, octets) = asker.send(&asked.snapshot, sent, transport);
                assert!(!matches!(outcome, Outcome::Pending(_)), "it waited its time");
                let last = check(&outcome, octets, sent, transport);
                assert!(pending || first == last, "patience changes what needs none");
            }
        }
    });
}

/// The octets of a reply that is sound.
fn check(outcome: &Outcome, octets: &[u8], sent: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let reply = check_reply(outcome, octets, sent, transport)?;
    check_question(&reply, sent);
    if sent.len() > 4096 && transport == Transport::Udp {
        assert!(matches!(reply.rcode(), 1 | 4), "{} octets over UDP, and {}", sent.len(), reply.rcode());
    }
    Some(octets.to_vec())
}

/// H4, H9: what every header and question has; H11: the question is the one that was asked, octet for octet.
fn check_question(reply: &Reply, sent: &[u8]) {
    if reply.opcode() == 0 {
        assert_eq!(reply.has(flag::RD), sent[2] & 1 != 0, "RD");
    }
    if !reply.question.is_empty() {
        assert_eq!(reply.question, sent[12..12 + reply.question.len()]);
        assert_eq!(sent[4..6], [0, 1], "a question that is not one");
    }
    assert!(
        !matches!(reply.rcode(), 0 | 3 | 6) || reply.opcode() == 0,
        "{} to opcode {}",
        reply.rcode(),
        reply.opcode()
    );
}
