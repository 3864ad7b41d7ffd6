//! HTTP: the page, charts, the account of a browser, and the way to the WebSocket.
//!
//! Every request is checked for its `Host`, and every one that changes anything for its `Origin`, so that no other page in
//! the same browser can use the station. Query strings have no meaning, and no token is ever in a URL.

use crate::board::MAX_MESSAGE;
use crate::door::ASK_WITHIN;
use crate::line::Line;
use crate::people::{Person, Role};
use crate::sessions::SessionId;
use crate::station::{Access, Context};
use crate::{assets, frame, socket};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{DefaultBodyLimit, Extension, FromRequest as _, Path, Request, State};
use axum::http::response::Builder;
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
use tokio::time::timeout;

/// The longest body of a request: a name and the longest password, each letter as JSON writes it at worst.
const MAX_BODY: usize = 8 << 10;
/// How long a log-in waits while the passwords of others are checked.
const LOGIN_WITHIN: Duration = Duration::from_secs(5);
/// What the library keeps of what is not sent yet: a little, then the longest message that there is, and answers to pings.
const WRITE_BUFFER: usize = 16 << 10;
const MAX_WRITE_BUFFER: usize = WRITE_BUFFER + MAX_MESSAGE + (1 << 20);
/// How much of what was typed is written down.
const MAX_NOTED: usize = 64;
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

/// An account that may see what there is.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    pub(crate) person: Person,
    pub(crate) session: Option<SessionId>,
    pub(crate) address: SocketAddr,
}

pub(crate) fn router(context: &Arc<Context>) -> Router {
    Router::new()
        .route("/whoami", get(whoami))
        .route("/login", post(login).layer(DefaultBodyLimit::max(MAX_BODY)))
        .route("/logout", post(logout))
        .route("/charts/{name}", get(chart))
        .route("/panels/{name}", get(panel))
        .route("/ws", get(upgrade))
        .fallback(asset)
        .layer(middleware::from_fn_with_state(Arc::clone(context), guard))
        .with_state(Arc::clone(context))
}

/// What is true of every request and every answer.
async fn guard(State(context): State<Arc<Context>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let subject: String = request.uri().path().chars().take(MAX_NOTED).collect();
    let has_token = tokens(&context, request.headers()).next().is_some();
    let checked = check_origin(&context, request.method(), request.headers());
    let mut response = match checked {
        Ok(()) if request.uri().path().len() > 1_024 => {
            refuse(StatusCode::URI_TOO_LONG, "expected a shorter path")
        }
        Ok(()) => next.run(request).await,
        Err(why) => refuse(StatusCode::FORBIDDEN, why),
    };
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        let refused = &context.counts.refused_requests;
        refused.fetch_add(1, Ordering::Relaxed);
    }
    let why = match checked {
        Err(why) => Some(why),
        Ok(()) if has_token && status == StatusCode::UNAUTHORIZED => Some(NO_LONGER),
        Ok(()) => None,
    };
    if let (Some(Peer(address)), Some(why)) = (peer, why) {
        context.note_refusal(address, audit(&context, "refused", &subject, why));
    }
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Why a token is not taken. The client does not learn which of these it is.
const NO_LONGER: &str =
    "a token that was ended, has expired, was given to another host or never given";

fn audit(context: &Context, action: &str, subject: &str, detail: &str) -> Audit {
    Audit {
        utime: context.clock.now().utime(),
        station: context.name.clone(),
        action: action.to_owned(),
        subject: subject.to_owned(),
        detail: detail.to_owned(),
        ..Audit::default()
    }
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

/// The account of a request, if it may see anything.
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
    let token = token_of(context, headers)?;
    let sessions = context.sessions();
    let (person, session) = sessions.find(context.clock.now(), address.ip(), token)?;
    Some(Guest {
        person,
        session: Some(session),
        address,
    })
}

/// The rank that is requested at a station without log-in; the gate decides how much of it counts.
const OPEN_RANK: i32 = 100;

/// Cookies do not know ports, so each station of a host has a name of its own for its cookie. With TLS, no page of another
/// host and no client without TLS can set it.
fn cookie_name(context: &Context) -> String {
    let prefix = if context.is_tls() { "__Host-" } else { "" };
    format!("{prefix}bowline_session_{}", context.port)
}

fn tokens<'a>(context: &Context, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
    let name = cookie_name(context);
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|text| text.split(';'));
    pairs.filter_map(move |pair| pair.trim().strip_prefix(&*name)?.strip_prefix('='))
}

/// The token of a request. If there are two, one was put there by another site.
fn token_of<'a>(context: &Context, headers: &'a HeaderMap) -> Option<&'a str> {
    let mut tokens = tokens(context, headers);
    tokens.next().filter(|_| tokens.next().is_none())
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
        return refuse(StatusCode::NOT_FOUND, "no log-in is required here");
    };
    let body = match timeout(ASK_WITHIN, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return refuse(error.status(), "expected a name and a password");
        }
        Ok(Err(_)) => return refuse(StatusCode::BAD_REQUEST, "the request was cut off"),
        Err(_) => return refuse(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
    };
    let Ok(Credentials { user, password }) = serde_json::from_slice(&body) else {
        return refuse(
            StatusCode::BAD_REQUEST,
            "expected JSON with user and password",
        );
    };
    let known = people.knows(&user).then_some(&*user);
    let host = address.ip();
    let may_try = context.sessions().may_try(context.clock.now(), host, known);
    if !may_try {
        return slow_down(&context, address, known);
    }
    // Two at once, because a check takes a core and 19 MiB on purpose; the others wait for their turn.
    let Ok(Ok(_permit)) = timeout(LOGIN_WITHIN, context.logins.acquire()).await else {
        context.sessions().refund(host, known);
        return slow_down(&context, address, known);
    };
    let (people, name) = (people.clone(), user.clone());
    let checked = tokio::task::spawn_blocking(move || people.check(&name, &password)).await;
    let Ok(Some(person)) = checked else {
        // Few enough: so many as may be tried.
        context.auditor.note(Audit {
            user: known.unwrap_or_default().to_owned(),
            address: address.to_string(),
            ..audit(&context, "login", "", "wrong name or password")
        });
        return refuse(StatusCode::UNAUTHORIZED, "wrong name or password");
    };
    note_person(&context, address, "login", &person);
    let mut sessions = context.sessions();
    sessions.refund(host, known);
    let token = sessions.begin(context.clock.now(), host, person);
    let seconds = sessions.length().as_secs();
    drop(sessions);
    let cookie = cookie(&context, &token, seconds);
    (StatusCode::OK, [(header::SET_COOKIE, cookie)]).into_response()
}

fn slow_down(context: &Context, address: SocketAddr, known: Option<&str>) -> Response {
    let audit = Audit {
        user: known.unwrap_or_default().to_owned(),
        ..audit(context, "login", "", "too many attempts")
    };
    context.note_refusal(address, audit);
    refuse(
        StatusCode::TOO_MANY_REQUESTS,
        "too many attempts: wait a moment",
    )
}

fn note_person(context: &Context, address: SocketAddr, action: &str, person: &Person) {
    context.auditor.note(Audit {
        user: person.name.clone(),
        role: person.role.to_string(),
        address: address.to_string(),
        is_done: true,
        ..audit(context, action, "", "")
    });
}

async fn logout(
    State(context): State<Arc<Context>>,
    Extension(Peer(address)): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    // A browser with several is rid of all of them.
    for token in tokens(&context, &headers) {
        let ended = context.sessions().end(token);
        if let Some(person) = ended {
            note_person(&context, address, "logout", &person);
        }
    }
    let cookie = cookie(&context, "", 0);
    (StatusCode::OK, [(header::SET_COOKIE, cookie)]).into_response()
}

fn cookie(context: &Context, token: &str, seconds: u64) -> String {
    let name = cookie_name(context);
    let secure = if context.is_tls() { "; Secure" } else { "" };
    format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
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
    let found = context.charts.iter().find(|it| it.chart.name == name);
    let Some(served) = found else {
        return refuse(StatusCode::NOT_FOUND, "there is no such chart");
    };
    let response = Response::builder()
        .header(header::CONTENT_TYPE, "application/geo+json")
        .header(header::CACHE_CONTROL, "no-cache");
    let whole = served.chart.geojson.clone();
    send(response, &headers, whole, served.zipped.clone())
}

async fn panel(
    State(context): State<Arc<Context>>,
    Extension(Peer(address)): Extension<Peer>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if guest(&context, address, &headers).is_none() {
        return refuse(StatusCode::UNAUTHORIZED, "log in first");
    }
    let Some(panels) = context.panels.clone() else {
        return refuse(StatusCode::NOT_FOUND, "this station has no custom panels");
    };
    let found = tokio::task::spawn_blocking(move || panels.read(&name)).await;
    let Ok(Some(file)) = found else {
        return refuse(StatusCode::NOT_FOUND, "there is no such file of a panel");
    };
    let response = Response::builder()
        .header(header::CONTENT_TYPE, file.content_type)
        .header(header::CACHE_CONTROL, "no-cache");
    send(response, &headers, file.bytes, None)
}

/// Sends something as it is, or in fewer bytes to those who can read that.
fn send(response: Builder, headers: &HeaderMap, whole: Bytes, zipped: Option<Bytes>) -> Response {
    let accepts = headers.get(header::ACCEPT_ENCODING);
    let accepts = accepts.and_then(|value| value.to_str().ok());
    let wants_gzip = accepts.is_some_and(|it| it.split(',').any(|it| it.trim() == "gzip"));
    let mut response = response.header(header::VARY, "Accept-Encoding");
    let zipped = zipped.filter(|_| wants_gzip);
    if zipped.is_some() {
        response = response.header(header::CONTENT_ENCODING, "gzip");
    }
    let response = response.body(Body::from(zipped.unwrap_or(whole)));
    response.unwrap_or_else(|error| refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()))
}

async fn asset(method: Method, headers: HeaderMap, uri: axum::http::Uri) -> Response {
    if !matches!(method, Method::GET | Method::HEAD) {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "expected GET");
    }
    let path = uri.path().strip_prefix('/').unwrap_or_default();
    let Some(asset) = assets::find(path) else {
        return refuse(StatusCode::NOT_FOUND, "there is no such page");
    };
    let cached = if asset.is_immutable {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let response = Response::builder()
        .header(header::CONTENT_TYPE, asset.content_type)
        .header(header::CACHE_CONTROL, cached);
    let zipped = asset.zipped.map(Bytes::from_static);
    send(response, &headers, Bytes::from_static(asset.bytes), zipped)
}

async fn upgrade(
    State(context): State<Arc<Context>>,
    Extension(Peer(address)): Extension<Peer>,
    Extension(line): Extension<Line>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(guest) = guest(&context, address, &headers) else {
        return refuse(StatusCode::UNAUTHORIZED, "log in first");
    };
    let Some(seat) = context.sit_down(&guest.person.name) else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open");
    };
    let upgrade = upgrade
        .protocols(["bowline"])
        // A little longer, so that too long differs from malformed.
        .max_message_size(2 * frame::MAX_FROM_PAGE)
        .max_frame_size(2 * frame::MAX_FROM_PAGE)
        .write_buffer_size(WRITE_BUFFER)
        .max_write_buffer_size(MAX_WRITE_BUFFER);
    line.give_to_page();
    upgrade.on_upgrade(move |socket| socket::attend(context, (socket, line), guest, seat))
}
