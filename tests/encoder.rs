//! Local encoders compared with vectors of the reference implementation (`tests/data/encoders/make.py`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use cuebase::config::Precision;
use cuebase::model::encoder::{BuiltInEncoder, LocalEncoder};
use cuebase::model::{Deadline, Embedder};
use serde_json::Value;

/// Largest accepted difference of a number from the reference, in single precision.
const TOLERANCE: f32 = 1e-3;
/// Lowest accepted cosine of a vector in 8 bits and the reference. Only texts of no or one token are below 0.99.
const INT8_COSINE_MIN: f32 = 0.97;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/encoders").join(name)
}

fn patience() -> Deadline {
    Deadline::background(Duration::from_secs(60))
}

/// Checks the vectors of the encoder in a folder, alone and in batches.
fn check_vectors(folder: &Path, precision: Precision, expected: &Path) {
    check_encoder(&LocalEncoder::load(folder, precision).expect("loads"), precision, expected);
}

/// Checks the vectors of an encoder, alone and in batches.
fn check_encoder(encoder: &dyn Embedder, precision: Precision, expected: &Path) {
    let expected: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(expected).expect("reads")).expect("a list");
    let texts: Vec<&str> = expected.iter().map(|one| one["text"].as_str().expect("a text")).collect();
    let together = encoder.embed(&texts, patience()).expect("vectors");
    // Also in a batch large enough that the operands of the matrix product are exchanged.
    let many: Vec<&str> = texts.iter().copied().cycle().take(texts.len() * 20).collect();
    let in_batch = encoder.embed(&many, patience()).expect("vectors");
    for (number, one) in expected.iter().enumerate() {
        let reference: Vec<f32> =
            one["vector"].as_array().expect("numbers").iter().map(|n| n.as_f64().expect("a number") as f32).collect();
        let alone = encoder.embed(&texts[number..=number], patience()).expect("a vector").remove(0);
        for vector in [&alone, &together[number], &in_batch[number], &in_batch[number + texts.len() * 19]] {
            assert_eq!(vector.len(), reference.len());
            match precision {
                Precision::Float32 => {
                    let difference = vector.iter().zip(&reference).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(difference < TOLERANCE, "{:?} differs by {difference}", texts[number]);
                }
                Precision::Int8 => {
                    let cosine: f32 = vector.iter().zip(&reference).map(|(a, b)| a * b).sum();
                    assert!(cosine > INT8_COSINE_MIN, "{:?} has a cosine of {cosine}", texts[number]);
                }
            }
        }
    }
}

#[test]
fn small_encoders_of_each_family_agree_with_the_reference() {
    for name in ["bert", "roberta"] {
        for precision in [Precision::Float32, Precision::Int8] {
            check_vectors(&data(name), precision, &data(name).join("expected.json"));
        }
    }
}

#[test]
fn all_minilm_agrees_with_the_reference() {
    match std::env::var_os("CUEBASE_TEST_ENCODER") {
        Some(folder) => {
            for precision in [Precision::Float32, Precision::Int8] {
                check_vectors(Path::new(&folder), precision, &data("minilm.json"));
            }
        }
        None => eprintln!("skipped: CUEBASE_TEST_ENCODER is not set to a folder of all-MiniLM-L6-v2"),
    }
}

#[test]
fn the_built_in_encoder_agrees_with_the_reference() {
    check_encoder(BuiltInEncoder::get().expect("opens"), Precision::Int8, &data("minilm.json"));
}

#[test]
fn an_invalid_model_folder_is_refused_naming_the_bad_file() {
    let refused = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().expect("temporary directory");
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            std::fs::copy(data("bert").join(file), folder.path().join(file)).expect("copies");
        }
        change(folder.path());
        LocalEncoder::load(folder.path(), Precision::Int8).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let edit = |from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let path = folder.join("config.json");
            let text = std::fs::read_to_string(&path).expect("reads");
            assert!(text.contains(from));
            std::fs::write(&path, text.replace(from, to)).expect("writes");
        }
    };
    let write = |name: &'static str, bytes: &'static [u8]| {
        move |folder: &Path| {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
            std::fs::write(path, bytes).expect("writes");
        }
    };
    assert_eq!(refused(&|_| {}), "", "the unchanged copy loads");
    for (expected, change) in [
        ("model_type", Box::new(edit("\"bert\"", "\"gpt2\"")) as Box<dyn Fn(&Path)>),
        ("hidden_act", Box::new(edit("\"gelu\"", "\"swish\""))),
        ("multiple", Box::new(edit("\"num_attention_heads\": 2", "\"num_attention_heads\": 3"))),
        ("model.safetensors", Box::new(edit("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"))),
        ("model.safetensors", Box::new(edit("\"hidden_size\": 16", "\"hidden_size\": 32"))),
        ("above 1024", Box::new(edit("\"hidden_size\": 16", "\"hidden_size\": 2048"))),
        ("config.json", Box::new(write("config.json", b"{"))),
        ("tokenizer.json", Box::new(write("tokenizer.json", b"{}"))),
        ("model.safetensors", Box::new(write("model.safetensors", b"\xff\xff\xff\xff\xff\xff\xff\x7f{}"))),
        ("modules.json", Box::new(write("modules.json", br#"[{"path": "2", "type": "x.models.Dense"}]"#))),
        ("1_Pooling", Box::new(write("1_Pooling/config.json", b"{}"))),
    ] {
        let error = refused(change.as_ref());
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
