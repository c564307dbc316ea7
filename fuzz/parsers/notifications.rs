//! Notifications of a payment provider. Only the correct signature is accepted, and no signed body breaks the parser.
//!
//! An input is a body. Text before the first empty line, if there is one, is used as the signature.

use std::sync::LazyLock;

use cuebase::webhook::{Signature, WebhookSecret};
use jiff::Timestamp;

static SECRET: LazyLock<WebhookSecret> =
    LazyLock::new(|| WebhookSecret::parse("whsec_Y3VlYmFzZSBjdWViYXNlIGN1ZWJhc2U=").expect("a secret"));
const TIME: i64 = 1_700_000_000;
const BODY: &str = r#"{"type":"payment.succeeded","data":{"payment_id":"pay_1","total_amount":100,"metadata":{}}}"#;

pub(super) fn enter(bytes: &[u8]) {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (signature, body) = end.map_or((&[][..], bytes), |end| (&bytes[..end], &bytes[end + 2..]));
    let signature = String::from_utf8_lossy(signature);
    let (now, timestamp) = (Timestamp::from_second(TIME).expect("a time"), TIME.to_string());
    let right = SECRET.sign("id", &timestamp, body);
    let headers = Signature { id: "id", timestamp: &timestamp, signature: &signature };
    if SECRET.verify(&headers, body, now) {
        assert!(signature.split(' ').any(|one| one == right), "{signature:?} is not {right:?}");
    }
    let misdated = Signature { id: "id", timestamp: &signature, signature: &right };
    assert!(signature == timestamp || !SECRET.verify(&misdated, body, now), "another time was signed");
    assert!(SECRET.verify(&Signature { signature: &right, ..headers }, body, now));
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let signature = SECRET.sign("id", &TIME.to_string(), BODY.as_bytes());
    vec![format!("{signature}\n\n{BODY}").into_bytes(), format!("v1,x v2,{signature}\n\n{BODY}").into_bytes()]
}
