//! The page of the sandbox payment provider: what is to be paid, and a button.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use hyper::{Method, Request, Response, StatusCode};

use super::answers::ResponseBody;
use super::connections::Activity;
use super::requests::respond;
use crate::api::Reply;
use crate::billing::sandbox::{Item, Order};
use crate::error::{Error, Result};
use crate::service::Service;

/// Answers one request.
pub(super) async fn answer(
    service: Arc<Service>,
    request: Request<Incoming>,
    activity: Arc<Activity>,
) -> Response<ResponseBody> {
    let _working = activity.work();
    let page = tokio::task::spawn_blocking(move || page(&service, request.method(), request.uri().path()));
    let outcome = page.await.unwrap_or_else(|_| Err(Error::internal("the sandbox's page panicked")));
    respond(outcome.unwrap_or_else(|failure| {
        let status = match failure {
            Error::NotFound { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        html(status, "Nothing here", "<p>There is no such payment.</p>")
    }))
}

fn page(service: &Service, method: &Method, path: &str) -> Result<Reply> {
    let missing = || Error::not_found("not_found", "no such page");
    let id = path.strip_prefix("/pay/").ok_or_else(missing)?;
    let order = match *method {
        Method::GET => {
            let sandbox = service.billing.sandbox().ok_or_else(missing)?;
            sandbox.order(id)?.ok_or_else(missing)?
        }
        Method::POST => service.billing.pay_in_sandbox(id)?,
        _ => return Err(missing()),
    };
    Ok(show(&order))
}

fn show(order: &Order) -> Reply {
    // Numbers and names of plans: nothing here was written by anybody outside.
    let item = match &order.item {
        Item::Recharge(paise) => format!("Recharge: {}.{:02} INR", paise / 100, paise % 100),
        Item::Plan(plan) => format!("Plan: {plan}, monthly"),
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
    Reply { status, headers: Vec::new(), body: page.into() }
        .with(CONTENT_TYPE, "text/html; charset=utf-8")
        .with(CONTENT_SECURITY_POLICY, policy)
        .with(CACHE_CONTROL, "no-store")
}
