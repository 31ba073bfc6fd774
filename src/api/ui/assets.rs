//! Style, script and mark of the page, within the binary.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/page.js");
const MARK: &str = include_str!("assets/mark.svg");

/// One of them.
pub(super) async fn asset(Path(name): Path<String>) -> Response {
    let (media, text) = match name.as_str() {
        "style.css" => ("text/css; charset=utf-8", STYLE),
        "page.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "mark.svg" => ("image/svg+xml", MARK),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=60"));
    response
}
