//! The page of the sandbox payment provider: the order and a button that pays it.

use std::sync::Arc;

use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use hyper::{Method, Request, Response, StatusCode};

use super::activity::Activity;
use super::client_body::ClientBody;
use super::reply_memory::small_response;
use super::response_body::ResponseBody;
use crate::api::Reply;
use crate::billing::Billing;
use crate::billing::sandbox::{SandboxItem, SandboxOrder};
use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;

/// Responds to one request.
pub(super) async fn respond(
    billing: Arc<Billing>,
    request: Request<ClientBody>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let _working = activity.work();
    let page = tokio::task::spawn_blocking(move || page(&billing, request.method(), request.uri().path()));
    match page.await.unwrap_or_else(|_| Err(Error::internal("the sandbox's page panicked"))) {
        Ok(page) => small_response(page),
        Err(Error::NotFound { .. }) => small_response(no_payment(StatusCode::NOT_FOUND)),
        Err(_) => small_response(no_payment(StatusCode::INTERNAL_SERVER_ERROR)),
    }
}

fn no_payment(status: StatusCode) -> Reply {
    html(status, "Payment not found", "<p>This payment does not exist.</p>")
}

fn page(billing: &Billing, method: &Method, path: &str) -> Result<Reply> {
    let Some(id) = path.strip_prefix("/pay/") else { return Err(no_page()) };
    match *method {
        Method::GET => {
            let Some(sandbox) = billing.sandbox() else { return Err(no_page()) };
            let Some(order) = sandbox.order(id)? else { return Err(no_page()) };
            Ok(order_page(&order))
        }
        Method::POST => Ok(order_page(&billing.pay_in_sandbox(id)?)),
        _ => Err(no_page()),
    }
}

fn no_page() -> Error {
    Error::not_found(ErrorCode::NotFound, "no such page")
}

fn order_page(order: &SandboxOrder) -> Reply {
    // The page needs no escaping: it shows only numbers and names of plans.
    let item = match &order.item {
        SandboxItem::Recharge(paise) => format!("Recharge: {}.{:02} INR", paise / 100, paise % 100),
        SandboxItem::Plan(plan) => format!("Plan: {}, monthly", plan.name()),
    };
    let action = if order.paid {
        "<p><strong>Paid.</strong> No money was moved.</p>".to_owned()
    } else {
        "<form method=\"post\"><button autofocus>Pay (no money is moved)</button></form>".to_owned()
    };
    html(StatusCode::OK, "Sandbox payment", &format!("<p>{item}</p>{action}"))
}

fn html(status: StatusCode, title: &str, body: &str) -> Reply {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><style>body{{font:1rem system-ui;max-width:30rem;\
         margin:4rem auto;padding:0 1rem}}button{{font:inherit;padding:.6rem 1.2rem}}</style><h1>{title}</h1>{body}</html>"
    );
    let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'";
    Reply::new(status, page)
        .with(CONTENT_TYPE, "text/html; charset=utf-8")
        .with(CONTENT_SECURITY_POLICY, policy)
        .with(CACHE_CONTROL, "no-store")
}
