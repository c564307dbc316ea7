//! BERT-family encoders, run in the server process: [`BuiltInEncoder`], compiled into the binary, and [`LocalEncoder`],
//! from a folder with the usual files of a published model: `config.json`, `tokenizer.json`, `model.safetensors`, and
//! optionally `modules.json`, `1_Pooling/config.json` and `sentence_bert_config.json`, which define how the vectors of
//! tokens are pooled.
//!
//! [`settings`] and [`weights`] read these files, [`batches`] sorts texts, and [`network`] computes their vectors. A
//! [`linear`] layer is [`quantised`] or of [`single_precision`], and [`product`] holds the innermost loop of the former.
//! The other parts are [`words`], [`attention`], [`activation`] and [`norm`], and [`lanes`] has their innermost sums. None of them starts threads: batches of
//! texts are processed in parallel already, and for a short text the threads take longer than the arithmetic.

mod activation;
mod attention;
mod batches;
mod built_in;
mod lanes;
mod linear;
mod local;
mod network;
mod norm;
mod product;
mod quantised;
mod settings;
mod single_precision;
mod weights;
mod words;

pub use built_in::BuiltInEncoder;
pub use local::LocalEncoder;
