//! stub
use super::Args;
use crate::setting::Parties;
use crate::sheet::Table;
pub(super) fn measure(_args: &Args, _parties: &Parties) -> (Vec<Table>, Vec<String>, String) {
    (Vec::new(), Vec::new(), String::new())
}
