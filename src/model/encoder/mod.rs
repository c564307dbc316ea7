//! BERT-family encoders, run in the server process: [`BuiltInEncoder`], compiled into the binary, and [`LocalEncoder`],
//! from a folder with the usual files of a published model: `config.json`, `tokenizer.json`, `model.safetensors`, and
//! optionally `modules.json`, `1_Pooling/config.json` and `sentence_bert_config.json`, which define how the vectors of
//! tokens are pooled.
//!
//! [`settings`] and [`weights`] read these files, [`batches`] sorts texts, and [`network`] computes their vectors. A
//! [`linear`] layer is [`quantised`] or of [`single_precision`], and [`product`] holds the innermost loop of the former.
//! The other parts are [`tokens`], [`embeddings`] with [`words`], [`attention`], [`activation`] and [`norm`], and [`lanes`]
//! has their innermost sums. None of them starts threads: batches of texts are processed in parallel already, and for a
//! short text the threads take longer than the arithmetic.
//!
//! [`Reader`] has a network of its own on the vectors of tokens of the built-in encoder. It reads pairs of texts.

mod activation;
mod attention;
mod batches;
mod built_in;
mod embeddings;
mod lanes;
mod linear;
mod local;
mod network;
mod norm;
mod product;
mod quantised;
mod reader;
mod settings;
mod single_precision;
mod tokens;
mod weights;
mod words;

pub use built_in::BuiltInEncoder;
pub use local::LocalEncoder;
pub use reader::{MEMORY_PIECES_MAX, Reader, Relation, TurnKind};

#[cfg(test)]
mod tests {
    use safetensors::SafeTensors;

    use super::built_in::ENCODER_FILE;
    use super::reader::READER_FILE;
    use crate::sha256::sha256;

    #[test]
    fn the_checksums_of_the_files_are_those_of_their_tensors() {
        for file in [ENCODER_FILE, READER_FILE] {
            let (head_bytes, head) = SafeTensors::read_metadata(file).expect("a head");
            let values = head.metadata().as_ref().expect("values");
            let tensors = &file[head_bytes + 8..];
            assert_eq!(values["sha256"], data_encoding::HEXLOWER.encode(&sha256(&[tensors])));
        }
    }
}
