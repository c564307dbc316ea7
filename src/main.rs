//! The `cuebase` binary: everything is in the library.

fn main() -> std::process::ExitCode {
    cuebase::cli::main()
}
