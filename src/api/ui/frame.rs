//! What stands around each view: who looks, the search, the time, the commands that show the same.

use askama::Template;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::ask::{Asker, encoded};
use super::session::{self, Session};
use super::{Fields, Ui};
use crate::api::call::RequestId;
use crate::api::documents::ProblemDocument;
use crate::api::failures::Peer;
use crate::zone::alias::Moment;

/// The views of the navigation: path, word, title.
const VIEWS: [(&str, &str, &str); 8] = [
    ("/ui", "explain", "Explain"),
    ("/ui/overview", "overview", "Overview"),
    ("/ui/zones", "zones", "Zones"),
    ("/ui/records", "records", "Records"),
    ("/ui/owners", "owners", "Owners"),
    ("/ui/findings", "findings", "Conflicts & orphans"),
    ("/ui/alias", "alias", "ALIAS targets"),
    ("/ui/history", "history", "History"),
];

/// The same as a view, elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Commands {
    /// For the command line.
    pub(super) cli: String,
    /// For curl.
    pub(super) curl: String,
}

/// What is known of who asks before the token is looked at.
pub(super) struct Visit {
    pub(super) headers: HeaderMap,
    peer: Option<Peer>,
    request: RequestId,
}

impl<S: Sync> FromRequestParts<S> for Visit {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Visit, Self::Rejection> {
        let request = parts.extensions.get::<RequestId>().cloned().unwrap_or(RequestId(String::new()));
        Ok(Visit { headers: parts.headers.clone(), peer: parts.extensions.get::<Peer>().copied(), request })
    }
}

/// What every template is given.
pub(super) struct Frame {
    pub(super) asker: Asker,
    pub(super) session: Session,
    pub(super) active: &'static str,
    pub(super) now: Moment,
    pub(super) commands: Commands,
    /// What stands in the search.
    pub(super) searched: String,
    pub(super) key: String,
    host: String,
}

impl Frame {
    /// For a request.
    pub(super) async fn of(ui: &Ui, visit: &Visit, active: &'static str, fields: &Fields) -> Frame {
        let mut frame = Frame::bare(ui, visit, active);
        frame.searched = fields.get("name").filter(|_| active == "explain").cloned().unwrap_or_default();
        frame.session = session::session(&frame.asker).await;
        if frame.session == Session::Nobody {
            frame.asker.token = None;
        }
        frame
    }

    /// Before it is known who asks.
    pub(super) fn bare(ui: &Ui, visit: &Visit, active: &'static str) -> Frame {
        let (headers, peer) = (&visit.headers, visit.peer);
        let token = session::token_of(headers);
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:8053");
        Frame {
            key: token.as_deref().map(session::form_key).unwrap_or_default(),
            asker: Asker {
                api: ui.api.clone(),
                token,
                visits: session::may_visit(headers, peer),
                peer,
                request: visit.request.clone(),
            },
            session: Session::Nobody,
            active,
            now: ui.state.clock.now(),
            commands: Commands::default(),
            searched: String::new(),
            host: host.to_owned(),
        }
    }

    /// With the commands that read the same: the arguments of the command line, and the path of the API.
    pub(super) fn reads(&mut self, cli: &str, path: &str) {
        self.commands = Commands { cli: format!("tenured {cli}"), curl: self.curl("GET", path, None) };
    }

    /// A curl command.
    pub(super) fn curl(&self, method: &str, path: &str, body: Option<&str>) -> String {
        let method = if method == "GET" { String::new() } else { format!(" -X {method}") };
        let body = body.map(|body| format!(" \\\n  -d {}", quoted(body))).unwrap_or_default();
        let url = quoted(&format!("http://{}{path}", self.host));
        format!("curl -s{method} -H \"Authorization: Bearer $TENURED_TOKEN\" {url}{body}")
    }

    pub(super) fn views(&self) -> &'static [(&'static str, &'static str, &'static str)] {
        &VIEWS
    }

    /// Whether this caller may look at anything.
    pub(super) fn may_look(&self) -> bool {
        self.session != Session::Nobody
    }

    /// Whether buttons that write are shown.
    pub(super) fn may_write(&self) -> bool {
        matches!(&self.session, Session::Token { role, .. } if role != "read")
    }

    /// Name and role of the token.
    pub(super) fn signed_in(&self) -> Option<(&str, &str)> {
        match &self.session {
            Session::Token { name, role } => Some((name, role)),
            Session::Visitor | Session::Nobody => None,
        }
    }

    /// A part of a URL.
    pub(super) fn enc(&self, text: &str) -> String {
        encoded(text)
    }

    /// How long ago a time was, or how far away it is.
    pub(super) fn ago(&self, text: &str) -> String {
        let Some(then) = millis(text) else { return text.to_owned() };
        // What never happened stands at the beginning of time.
        if then == 0 {
            return "never".to_owned();
        }
        if then <= self.now.0 {
            format!("{} ago", span((self.now.0 - then) / 1_000))
        } else {
            format!("in {}", span((then - self.now.0) / 1_000))
        }
    }

    /// As [`Frame::ago`], where a time may be absent.
    pub(super) fn ago_or(&self, text: &Option<String>, without: &str) -> String {
        text.as_ref().map_or_else(|| without.to_owned(), |text| self.ago(text))
    }

    /// The response with a view; a visitor who may not look is asked to sign in.
    pub(super) fn show(&self, status: StatusCode, view: &impl Template) -> Response {
        if self.may_look() { page(status, view) } else { self.sign_in("", StatusCode::UNAUTHORIZED) }
    }

    /// The form to sign in, with what was wrong.
    pub(super) fn sign_in(&self, wrong: &str, status: StatusCode) -> Response {
        page(status, &SignIn { f: self, wrong })
    }

    /// A page that says what is wrong.
    pub(super) fn problem(&self, status: StatusCode, detail: &str) -> Response {
        page(status, &Trouble { f: self, detail, problem: None })
    }

    /// A page with a problem of the API.
    pub(super) fn failed(&self, problem: &ProblemDocument) -> Response {
        if !self.may_look() {
            return self.sign_in("", StatusCode::UNAUTHORIZED);
        }
        page(status_of(problem), &Trouble { f: self, detail: &problem.detail, problem: Some(problem) })
    }
}

/// The status of a problem.
pub(super) fn status_of(problem: &ProblemDocument) -> StatusCode {
    StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn<'a> {
    f: &'a Frame,
    wrong: &'a str,
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct Trouble<'a> {
    f: &'a Frame,
    detail: &'a str,
    problem: Option<&'a ProblemDocument>,
}

/// A text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Milliseconds since 1970 of an RFC 3339 time.
pub(super) fn millis(text: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339(text).ok()?;
    u64::try_from(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// Seconds in words of one unit.
pub(super) fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A template as HTML.
pub(super) fn page(status: StatusCode, view: &impl Template) -> Response {
    // A template of ours fails only when its own parts do, and they are texts.
    let (status, text) = match view.render() {
        Ok(text) => (status, text),
        Err(error) => {
            tracing::error!(error = %error, "a view could not be rendered");
            (StatusCode::INTERNAL_SERVER_ERROR, "The view could not be rendered.".to_owned())
        }
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// To another view, read anew.
pub(super) fn redirect(to: &'static str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(to));
    response
}
