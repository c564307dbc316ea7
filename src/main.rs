//! The `cuebase` binary. All code is in the library.

fn main() -> std::process::ExitCode {
    cuebase::cli::main()
}
