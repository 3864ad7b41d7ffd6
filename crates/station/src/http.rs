//! HTTP: the page, charts, who somebody is, and the way to the WebSocket.
//!
//! Every request is checked for its `Host`, and every one that changes anything for its `Origin`, so that no other page in
//! the same browser can use the station. Nothing is told apart by query strings, and no token is ever in a URL.

use crate::people::{Person, Role};
use crate::sessions::SessionId;
use crate::socket;
use crate::station::{Access, Context};
use crate::{assets, frame};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bowline_msgs::Audit;
use serde::Deserialize;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The longest body of a request: a name and a password.
const MAX_BODY: usize = 4 << 10;
/// How long somebody waits while the passwords of others are checked.
const LOGIN_WITHIN: Duration = Duration::from_secs(5);
const COOKIE: &str = "bowline_session";
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; connect-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// Sent with every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Where a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Somebody who may see what there is.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    pub(crate) person: Person,
    pub(crate) session: Option<SessionId>,
    pub(crate) address: SocketAddr,
}

pub(crate) fn router(context: &Arc<Context>) -> Router {
    Router::new()
        .route("/whoami", get(whoami))
        .route("/login", post(login))
        .route("/logout", post(logout))
        .route("/charts/{name}", get(chart))
        .route("/ws", get(upgrade))
        .fallback(asset)
        .layer(middleware::from_fn_with_state(Arc::clone(context), guard))
        .with_state(Arc::clone(context))
}

/// What is true of every request and every answer.
async fn guard(State(context): State<Arc<Context>>, request: Request, next: Next) -> Response {
    let mut response = match check_origin(&context, request.method(), request.headers()) {
        Ok(()) if request.uri().path().len() > 1_024 => {
            refuse(StatusCode::URI_TOO_LONG, "expected a shorter path")
        }
        Ok(()) => next.run(request).await,
        Err(why) => refuse(StatusCode::FORBIDDEN, why),
    };
    if response.status().is_client_error() {
        context
            .counts
            .refused_requests
            .fetch_add(1, Ordering::Relaxed);
    }
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn check_origin(
    context: &Context,
    method: &Method,
    headers: &HeaderMap,
) -> Result<(), &'static str> {
    let one = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        let value = values.next().and_then(|value| value.to_str().ok());
        value.filter(|_| values.next().is_none())
    };
    let host = one(header::HOST).ok_or("expected one Host")?;
    if !context.is_host(host) {
        return Err("this station is not at that Host; --host adds one");
    }
    let is_upgrade = headers.contains_key(header::UPGRADE);
    let is_safe = matches!(*method, Method::GET | Method::HEAD) && !is_upgrade;
    match one(header::ORIGIN) {
        Some(origin) if context.is_origin(origin, host) => Ok(()),
        Some(_) => Err("another page has no business here: its Origin is not this station's"),
        None if is_safe && !headers.contains_key(header::ORIGIN) => Ok(()),
        None => Err("expected one Origin"),
    }
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        format!("{why}\n"),
    )
        .into_response()
}

/// Whoever asks, if they may see anything.
fn guest(context: &Context, address: SocketAddr, headers: &HeaderMap) -> Option<Guest> {
    let Access::LogIn { .. } = &context.access else {
        return Some(Guest {
            person: Person {
                name: String::new(),
                role: Role::Supervisor,
                rank: OPEN_RANK,
            },
            session: None,
            address,
        });
    };
    let token = token_of(headers)?;
    let sessions = context.sessions();
    let (person, session) = sessions.find(context.clock.now(), address.ip(), token)?;
    Some(Guest {
        person,
        session: Some(session),
        address,
    })
}

/// What somebody asks for at a station without log-in; the gate says how much of it counts.
const OPEN_RANK: i32 = 100;

fn token_of(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

async fn whoami(
    State(context): State<Arc<Context>>,
    Extension(Peer(address)): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    match guest(&context, address, &headers) {
        Some(guest) => format!("{}\n", guest.person.name).into_response(),
        None => refuse(StatusCode::UNAUTHORIZED, "log in first"),
    }
}

#[derive(Deserialize)]
struct Credentials {
    user: String,
    password: String,
}

async fn login(
    State(context): State<Arc<Context>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Response {
    let Access::LogIn { people, .. } = &context.access else {
        return refuse(StatusCode::NOT_FOUND, "nobody has to log in here");
    };
    let body = axum::body::to_bytes(request.into_body(), MAX_BODY).await;
    let Ok(body) = body else {
        return refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            "expected a name and a password",
        );
    };
    let Ok(Credentials { user, password }) = serde_json::from_slice(&body) else {
        return refuse(
            StatusCode::BAD_REQUEST,
            "expected JSON with user and password",
        );
    };
    let may_try = context
        .sessions()
        .may_try(context.clock.now(), address.ip());
    // Two at once, because a check takes a core and 19 MiB on purpose; the others wait for their turn.
    let permit = tokio::time::timeout(LOGIN_WITHIN, context.logins.acquire()).await;
    let (true, Ok(Ok(_permit))) = (may_try, permit) else {
        note_login(&context, address, &user, None, "too many attempts");
        return refuse(
            StatusCode::TOO_MANY_REQUESTS,
            "too many attempts: wait a moment",
        );
    };
    let people = people.clone();
    let name = user.clone();
    let checked = tokio::task::spawn_blocking(move || people.check(&name, &password)).await;
    let Ok(Some(person)) = checked else {
        note_login(&context, address, &user, None, "wrong name or password");
        return refuse(StatusCode::UNAUTHORIZED, "wrong name or password");
    };
    note_login(&context, address, &user, Some(person.role), "");
    let token = context
        .sessions()
        .begin(context.clock.now(), address.ip(), person);
    let cookie = cookie(&context, &token, context.sessions().length().as_secs());
    (StatusCode::OK, [(header::SET_COOKIE, cookie)]).into_response()
}

fn note_login(
    context: &Context,
    address: SocketAddr,
    user: &str,
    role: Option<Role>,
    detail: &str,
) {
    context.auditor.note(Audit {
        utime: context.clock.now().utime(),
        station: context.name.clone(),
        user: user.chars().take(64).collect(),
        role: role.map_or("", Role::as_str).to_owned(),
        address: address.to_string(),
        action: "login".to_owned(),
        detail: detail.to_owned(),
        is_done: role.is_some(),
        ..Audit::default()
    });
}

async fn logout(State(context): State<Arc<Context>>, headers: HeaderMap) -> Response {
    if let Some(token) = token_of(&headers) {
        context.sessions().end(token);
    }
    let cookie = cookie(&context, "", 0);
    (StatusCode::OK, [(header::SET_COOKIE, cookie)]).into_response()
}

fn cookie(context: &Context, token: &str, seconds: u64) -> String {
    let secure = if context.is_tls() { "; Secure" } else { "" };
    format!("{COOKIE}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

async fn chart(
    State(context): State<Arc<Context>>,
    Extension(Peer(address)): Extension<Peer>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if guest(&context, address, &headers).is_none() {
        return refuse(StatusCode::UNAUTHORIZED, "log in first");
    }
    let Some(chart) = context.charts.iter().find(|chart| chart.name == name) else {
        return refuse(StatusCode::NOT_FOUND, "there is no such chart");
    };
    let headers = [
        (header::CONTENT_TYPE, "application/geo+json"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, chart.geojson.clone()).into_response()
}

async fn asset(method: Method, headers: HeaderMap, uri: axum::http::Uri) -> Response {
    if !matches!(method, Method::GET | Method::HEAD) {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "expected GET");
    }
    let path = uri.path().strip_prefix('/').unwrap_or_default();
    let Some(asset) = assets::find(path) else {
        return refuse(StatusCode::NOT_FOUND, "there is no such page");
    };
    let accepts = headers.get(header::ACCEPT_ENCODING);
    let accepts = accepts.and_then(|value| value.to_str().ok());
    let wants_gzip = accepts.is_some_and(|it| it.split(',').any(|it| it.trim() == "gzip"));
    let zipped = asset.gzipped().filter(|_| wants_gzip);
    let cached = if asset.is_immutable {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let mut response = Response::builder()
        .header(header::CONTENT_TYPE, asset.content_type)
        .header(header::CACHE_CONTROL, cached)
        .header(header::VARY, "Accept-Encoding");
    if zipped.is_some() {
        response = response.header(header::CONTENT_ENCODING, "gzip");
    }
    let bytes = zipped.unwrap_or(Bytes::from_static(asset.bytes));
    let response = response.body(Body::from(bytes));
    response.unwrap_or_else(|error| refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()))
}

async fn upgrade(
    State(context): State<Arc<Context>>,
    Extension(Peer(address)): Extension<Peer>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(guest) = guest(&context, address, &headers) else {
        return refuse(StatusCode::UNAUTHORIZED, "log in first");
    };
    let Some(seat) = context.sit_down() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open");
    };
    let upgrade = upgrade
        .protocols(["bowline"])
        // A little longer, so that what is too long can be told from what is malformed.
        .max_message_size(2 * frame::MAX_FROM_PAGE)
        .max_frame_size(2 * frame::MAX_FROM_PAGE);
    upgrade.on_upgrade(move |socket| socket::attend(context, socket, guest, seat))
}
