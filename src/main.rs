//! The program `tenured`: hands over to the command line.

fn main() -> std::process::ExitCode {
    tenured::cli::main()
}
