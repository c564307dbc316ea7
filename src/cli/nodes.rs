//! `cuebase nodes`: lists the nodes that share a database, and how many namespaces each owns.

use std::io::Write;

use crate::config::Config;
use crate::control::{self, Command, NodeRow};

/// Titles of the columns.
const TITLES: [&str; 4] = ["node", "address", "version", "namespaces"];
/// Length of the id of a node.
const ID_CHARS: usize = 26;
/// What follows the line of the server on the data directory.
const MARK: &str = "  this node";

/// Prints the nodes.
pub(super) fn nodes(config: &Config) -> anyhow::Result<()> {
    let answer = control::run(config, Command::ListNodes, &|_| {})?;
    let rows: Option<Vec<NodeRow>> = serde_json::from_value(answer)?;
    let mut out = std::io::stdout().lock();
    match rows {
        Some(rows) => print_nodes(&mut out, &rows)?,
        None => {
            let data = config.data.display();
            writeln!(out, "the data directory {data} belongs to one process, which owns all namespaces")?;
        }
    }
    Ok(())
}

/// Prints a table with a line for each node.
fn print_nodes(out: &mut impl Write, rows: &[NodeRow]) -> std::io::Result<()> {
    let [node, address, version, namespaces] = TITLES;
    let (mut address_chars, mut version_chars) = (address.len(), version.len());
    for row in rows {
        address_chars = address_chars.max(row.address.len());
        version_chars = version_chars.max(row.version.len());
    }
    writeln!(out, "{node:<ID_CHARS$}  {address:<address_chars$}  {version:<version_chars$}  {namespaces}")?;
    let count_chars = namespaces.len();
    for row in rows {
        let NodeRow { id, address, version, this, namespaces } = row;
        let mark = if *this { MARK } else { "" };
        writeln!(
            out,
            "{id:<ID_CHARS$}  {address:<address_chars$}  {version:<version_chars$}  {namespaces:>count_chars$}{mark}"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, address: &str, this: bool, namespaces: usize) -> NodeRow {
        NodeRow { id: id.into(), address: address.into(), version: "0.1.0".into(), this, namespaces }
    }

    #[test]
    fn each_node_has_a_line_and_one_is_marked() {
        let rows = [
            row("01JD0000000000000000000001", "10.0.0.1:7071", false, 7),
            row("01JD0000000000000000000002", "node-2.internal:7071", true, 1_200),
        ];
        let mut text = Vec::new();
        print_nodes(&mut text, &rows).expect("prints");
        let expected = "\
node                        address               version  namespaces
01JD0000000000000000000001  10.0.0.1:7071         0.1.0             7
01JD0000000000000000000002  node-2.internal:7071  0.1.0          1200  this node
";
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }
}
