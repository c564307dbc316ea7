//! `cuebase bind`: lets the current project use the namespace that its files name.

use clap::Args;

use super::environment::environment_variable;
use crate::agents::places::Places;
use crate::agents::project::Project;

/// Options of `cuebase bind`.
#[derive(Args)]
pub(super) struct BindOptions {
    /// Take the permission back: the project uses the namespace of its folder
    #[arg(long)]
    remove: bool,
}

/// Binds the project of the current folder, and prints the namespace that it uses.
pub(super) fn bind(options: &BindOptions) -> anyhow::Result<()> {
    let places = Places::resolve(environment_variable)?;
    let mut project = Project::at(&std::env::current_dir()?, None, &places)?;
    if options.remove {
        project.unbind(&places)?;
    } else {
        project.bind(&places)?;
    }
    println!("{} uses the namespace {} ({})", project.root.display(), project.namespace, project.origin.describe());
    Ok(())
}
