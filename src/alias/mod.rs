//! stub
use crate::zone::alias::TargetKey;
/// stub
#[derive(Clone, Debug)]
pub struct AliasHandle;
impl AliasHandle {
    /// stub
    pub fn hint(&self, _t: &TargetKey) {}
}
