//! The program: all of it is `cfaudit::cli`.

fn main() -> std::process::ExitCode {
    cfaudit::cli::main()
}
