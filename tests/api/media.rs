//! Uploads and the signed URLs that open them.

use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::json;

use crate::support::Api;

/// Opens the API with an upload `[id-1]`, and its signed URL in the transcript.
fn with_upload() -> Api {
    let mut api = Api::open();
    api.send(
        "POST /v1/media?filename=caf%C3%A9%22.html
        content-type: text/html
        <script>alert(1)</script>

        GET /v1/media/[id-1]",
    );
    api
}

/// Returns the target of the signed URL of `[id-1]`.
fn signed_target(api: &Api) -> String {
    let url = api.answer("GET /v1/media/[id-1]").json()["url"].as_str().expect("a URL").to_owned();
    url.strip_prefix("http://api.test").expect("the address that the caller used").to_owned()
}

#[test]
fn an_upload_is_described_and_has_a_signed_url() {
    let api = with_upload();
    assert_snapshot!(api.transcript());
}

#[test]
fn a_signed_url_returns_the_bytes_without_running_them() {
    let mut api = with_upload();
    api.send("nobody GET /v1/media/[id-1]/content?expires=1777886100&signature=[signature-1]");
    assert_snapshot!(api.transcript());
}

#[test]
fn an_image_keeps_its_media_type() {
    let mut api = Api::open();
    api.send("POST /v1/media\ncontent-type: image/png\npixels");
    let answer = api.answer(&format!("nobody GET {}", signed_target(&api)));
    assert_eq!((answer.status, answer.headers["content-type"].as_bytes()), (200, &b"image/png"[..]));
    assert_eq!(answer.body.as_ref(), b"pixels");
}

#[test]
fn a_signed_url_expires_after_15_minutes() {
    let mut api = with_upload();
    let target = signed_target(&api);
    api.advance(SignedDuration::from_secs(15 * 60 - 1));
    assert_eq!(api.answer(&format!("nobody GET {target}")).status, 200);
    api.advance(SignedDuration::from_secs(1));
    assert_eq!(api.answer(&format!("nobody GET {target}")).status, 403);
    assert_eq!(api.answer(&format!("nobody GET {}", signed_target(&api))).status, 200, "a new URL is valid again");
}

#[test]
fn an_altered_signed_url_is_refused() {
    let api = with_upload();
    let target = signed_target(&api);
    let (start, signature) = target.rsplit_once('=').expect("a signature");
    let later = target.replace("expires=1", "expires=2");
    let id = api.answer("GET /v1/media/[id-1]").json()["id"].as_str().expect("an id").to_owned();
    let other_upload = target.replace(&id, "01KR0000000000000000000000");
    assert_ne!(other_upload, target);
    for altered in [
        format!("{start}="),
        format!("{start}=x{signature}"),
        later,
        other_upload,
        format!("/v1/media/{id}/content"),
        "/v1/media/nothing/content".to_owned(),
    ] {
        let refused = api.answer(&format!("nobody GET {altered}"));
        assert_eq!((refused.status, refused.json()), (403, json!({"message": "Forbidden"})), "{altered}");
    }
}

#[test]
fn each_part_of_an_upload_is_checked() {
    let mut api = Api::open();
    api.send(
        "POST /v1/media

        POST /v1/media
        content-type: picture
        x

        POST /v1/media
        content-type: multipart/form-data; boundary=x
        --x

        POST /v1/media?filename=a%0Ab
        content-type: text/plain
        x

        POST /v1/media?namespace=none
        content-type: text/plain
        x

        GET /v1/media/nothing

        GET /v1/media/01M87DTP085DTW7X2C8MYY0WVK

        GET /v1/usage",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn uploads_are_hidden_from_other_callers() {
    let mut api = Api::open_with_scoped_key();
    api.send(
        "POST /v1/media
        content-type: text/plain
        x

        scoped GET /v1/media/[id-1]

        stranger GET /v1/media/[id-1]",
    );
    assert_snapshot!(api.transcript());
}
