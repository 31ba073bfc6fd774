//! The program `tenured`.

fn main() -> std::process::ExitCode {
    tenured::cli::main()
}
