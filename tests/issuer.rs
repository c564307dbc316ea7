//! Dashboard sessions from an external identity provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{self, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256};
use aws_lc_rs::{encoding, hmac};
use data_encoding::BASE64URL_NOPAD;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::fake::{FakeResponse, serve};
use crate::support::{Server, fresh, stdout, wait_for};

fn base64url(bytes: impl AsRef<[u8]>) -> String {
    BASE64URL_NOPAD.encode(bytes.as_ref())
}

/// A signing key of the issuer.
enum Signer {
    Ec(EcdsaKeyPair),
    Rsa(rsa::KeyPair),
}

impl Signer {
    fn ec() -> Self {
        Self::Ec(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key"))
    }

    fn rsa() -> Self {
        Self::Rsa(rsa::KeyPair::generate(KeySize::Rsa2048).expect("a key"))
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ec(_) => "ES256",
            Self::Rsa(_) => "RS256",
        }
    }

    fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Ec(pair) => {
                let point = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "alg": "ES256", "x": base64url(&point[1..33]), "y": base64url(&point[33..])})
            }
            Self::Rsa(pair) => {
                // RSAPublicKey ::= SEQUENCE { modulus INTEGER, exponent INTEGER }; for 2048 bits every length has two bytes.
                let der = pair.public_key().as_ref();
                let modulus = &der[9..9 + 256];
                json!({"kty": "RSA", "kid": id, "use": "sig", "alg": "RS256", "n": base64url(modulus), "e": "AQAB"})
            }
        }
    }

    fn token(&self, id: &str, claims: &Value) -> String {
        let header = json!({"alg": self.algorithm(), "typ": "JWT", "kid": id});
        let message = format!("{}.{}", base64url(header.to_string()), base64url(claims.to_string()));
        let signature = match self {
            Self::Ec(pair) => pair.sign(&SystemRandom::new(), message.as_bytes()).expect("signs").as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature).expect("signs");
                signature
            }
        };
        format!("{message}.{}", base64url(signature))
    }
}

fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs() as i64
}

fn claims() -> Value {
    json!({"iss": "https://id.example", "aud": "dash", "sub": "u", "exp": now() + 600, "iat": now(), "token_use": "id", "custom:tenant_id": "acme", "email": "ann@example.org"})
}

fn claims_with(key: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[key] = value;
    claims
}

fn claims_without(key: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().expect("an object").remove(key);
    claims
}

#[test]
fn only_valid_id_tokens_of_the_issuer_are_accepted() {
    let (_folder, data) = fresh();
    let (ec, rsa) = (Signer::ec(), Signer::rsa());
    let keys =
        Arc::new(Mutex::new(json!({"keys": [ec.jwk("e1"), rsa.jwk("r1"), {"kty": "oct", "kid": "o1", "k": "AAAA"}]})));
    let fetches = Arc::new(AtomicU32::new(0));
    let (published, counted) = (Arc::clone(&keys), Arc::clone(&fetches));
    let url = serve(move |request| {
        assert_eq!(request.path, "/keys");
        counted.fetch_add(1, Ordering::SeqCst);
        FakeResponse::Json(200, published.lock().clone())
    });
    let settings = format!("[identity]\nissuer = 'https://id.example'\naudience = 'dash'\njwks_url = '{url}/keys'\n");
    let server = Server::start_configured(&data, &settings);
    let whoami = |token: &str| server.call_as(token, "GET", "/v1/whoami", None);

    for token in [ec.token("e1", &claims()), rsa.token("r1", &claims()), ec.token("e1", &claims_without("token_use"))] {
        let answer = whoami(&token);
        assert_eq!(
            (answer.status, &answer.body),
            (200, &json!({"account": "acme", "auth": "jwt", "env": ""})),
            "{answer:?}"
        );
    }
    assert_eq!(whoami(&ec.token("e1", &claims_with("aud", json!(["other", "dash"])))).status, 200);
    // A small clock difference is tolerated.
    assert_eq!(whoami(&ec.token("e1", &claims_with("exp", json!(now() - 30)))).status, 200);
    assert_eq!(whoami(&ec.token("e1", &claims_with("nbf", json!(now() + 30)))).status, 200);
    // Sessions of the local issuer remain valid.
    assert_eq!(whoami(&stdout(&data, &["token"])).body["account"], "default");
    assert_eq!(fetches.load(Ordering::SeqCst), 1, "the keys are cached");

    let good = ec.token("e1", &claims());
    let mut parts: Vec<&str> = good.split('.').collect();
    let unsigned_header = base64url(json!({"alg": "none", "typ": "JWT", "kid": "e1"}).to_string());
    let unsigned = format!("{unsigned_header}.{}.", parts[1]);
    // Algorithm confusion: HS256 with the public key as the secret, in both encodings that a careless server might use.
    let Signer::Rsa(pair) = &rsa else { panic!("an RSA key") };
    let x509: encoding::PublicKeyX509Der<'_> = pair.public_key().as_der().expect("DER");
    let confused = [pair.public_key().as_ref(), x509.as_ref()].map(|secret| {
        let header = base64url(json!({"alg": "HS256", "typ": "JWT", "kid": "r1"}).to_string());
        let message = format!("{header}.{}", base64url(claims().to_string()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", base64url(tag))
    });
    let other_payload = base64url(claims_with("custom:tenant_id", json!("victim")).to_string());
    parts[1] = &other_payload;
    let refused = [
        ("wrong audience", ec.token("e1", &claims_with("aud", json!("other")))),
        ("no audience", ec.token("e1", &claims_without("aud"))),
        ("wrong issuer", ec.token("e1", &claims_with("iss", json!("https://evil.example")))),
        ("no issuer", ec.token("e1", &claims_without("iss"))),
        ("expired", ec.token("e1", &claims_with("exp", json!(now() - 120)))),
        ("never expires", ec.token("e1", &claims_without("exp"))),
        ("not yet", ec.token("e1", &claims_with("nbf", json!(now() + 600)))),
        ("access token", ec.token("e1", &claims_with("token_use", json!("access")))),
        ("no tenant", ec.token("e1", &claims_without("custom:tenant_id"))),
        ("empty tenant", ec.token("e1", &claims_with("custom:tenant_id", json!("")))),
        ("tenant is not text", ec.token("e1", &claims_with("custom:tenant_id", json!(["acme"])))),
        ("signed with another key", Signer::ec().token("e1", &claims())),
        ("algorithm of another key", ec.token("r1", &claims())),
        ("unknown key", ec.token("nobody", &claims())),
        ("altered", parts.join(".")),
        ("alg none", unsigned),
        ("HS256 with the public key", confused[0].clone()),
        ("HS256 with the public key in X.509 form", confused[1].clone()),
        ("malformed token", "a.b.c".into()),
    ];
    for (case, token) in refused {
        let answer = whoami(&token);
        assert_eq!((answer.status, answer.body), (403, json!({"message": "Forbidden"})), "{case}");
    }
    assert!(!server.log().contains(&good), "the log contains a credential");

    // An unknown key id triggers a fetch after a key rotation; the old key becomes invalid.
    let new = Signer::ec();
    *keys.lock() = json!({"keys": [new.jwk("e2")]});
    wait_for("the new key to be fetched", || whoami(&new.token("e2", &claims())).status == 200);
    assert_eq!(whoami(&ec.token("e1", &claims_with("sub", json!("later")))).status, 403);

    // A suspended account is refused even with a valid token.
    stdout(&data, &["accounts", "suspend", "acme"]);
    assert_eq!(whoami(&new.token("e2", &claims())).status, 403);
}

#[test]
fn a_known_key_is_accepted_while_the_issuer_hangs() {
    let (_folder, data) = fresh();
    let signer = Signer::ec();
    let keys = json!({"keys": [signer.jwk("e1")]});
    let fetches = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&fetches);
    let url = serve(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 => FakeResponse::Json(200, keys.clone()),
        _ => FakeResponse::Silence,
    });
    let settings = format!("[identity]\nissuer = 'https://id.example'\naudience = 'dash'\njwks_url = '{url}'\n");
    let server = Server::start_configured(&data, &settings);
    let whoami = |token: &str| server.call_as(token, "GET", "/v1/whoami", None).status;
    assert_eq!(whoami(&signer.token("e1", &claims())), 200);
    std::thread::scope(|scope| {
        // An unknown key id makes the server fetch the keys; the issuer does not respond.
        let unknown_key = scope.spawn(|| {
            let number = AtomicU32::new(0);
            wait_for("a second fetch of the keys", || {
                let id = format!("x{}", number.fetch_add(1, Ordering::SeqCst));
                assert_eq!(whoami(&signer.token(&id, &claims())), 403);
                fetches.load(Ordering::SeqCst) > 1
            });
        });
        wait_for("a second fetch of the keys", || fetches.load(Ordering::SeqCst) > 1);
        // The token is not cached, so the server verifies it while the other request still waits.
        assert_eq!(whoami(&signer.token("e1", &claims_with("sub", json!("somebody else")))), 200);
        assert!(!unknown_key.is_finished(), "the known key waited for the fetch");
    });
}

#[test]
fn an_unreachable_issuer_affects_only_its_own_sessions() {
    let (_folder, data) = fresh();
    let settings =
        "[identity]\nissuer = 'https://id.example'\naudience = 'dash'\njwks_url = 'http://127.0.0.1:9/keys'\n";
    let server = Server::start_configured(&data, settings);
    let token = Signer::ec().token("e1", &claims());
    assert_eq!(server.call_as(&token, "GET", "/v1/whoami", None).status, 403);
    assert_eq!(server.get("/v1/whoami").status, 200);
    assert_eq!(server.call_as(&stdout(&data, &["token"]), "GET", "/v1/whoami", None).status, 200);
}
