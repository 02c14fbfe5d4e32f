//! Checks the block `lightgbm` of models: what of it can be known without the file.

use crate::job::messages as m;
use crate::model::kind::lightgbm_file::LightgbmBlock;
use crate::model::kind::trees::rebuild;
use crate::param::Name;

use crate::job::check::JobChecker;

impl JobChecker<'_> {
    /// One block `lightgbm`.
    pub(super) fn lightgbm(&mut self, at: &str, name: &Name, block: &LightgbmBlock) {
        if !cfg!(feature = "lightgbm") {
            self.say(at, m::lightgbm_not_built(rebuild("LightGBM", "lightgbm")));
        }
        self.path_alone(format!("{at}.file"), &block.file);
        self.inputs(at, name, &[]);
        self.columns_in_order(at, &block.columns, &[]);
    }
}
