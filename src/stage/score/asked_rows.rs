//! The rows that a model is asked, block by block: those of the audit, counterfactuals, and rows
//! that a stage makes.

use crate::data::rows::aligned::CounterfactualReader;
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::{Attribute, FeatureRows, RowIdKind};
use crate::error::Result;
use crate::stage::row_context::RowContext;
use crate::stage::score::join::RecheckSample;
use crate::stage::score::rows::{knowing_fold, training_rows};

/// Rows of a block of those that a stage makes.
pub(crate) const BATCH: usize = 16_384;

/// Rows that a model is asked.
pub(crate) trait AskedRows: Sync {
    /// Number of blocks.
    fn n_blocks(&self) -> usize;

    /// For each row of a block the fold whose model is asked; none where none is.
    fn folds(&self, block: usize) -> Result<Vec<Option<u8>>>;

    /// The rows of a block as the model reads them.
    fn rows(&self, block: usize) -> Result<FeatureRows>;

    /// What messages call a row of a block.
    fn name(&self, block: usize, i: usize) -> Result<String>;

    /// Whether they are counterfactuals of the worlds of causal graphs, of which equal ones are
    /// asked once.
    fn are_of_worlds(&self) -> bool {
        false
    }
}

/// Makes the rows of some pairs.
type MakePairs<'a> = &'a (dyn Fn(&[(u32, u32)]) -> FeatureRows + Sync);

/// Rows that a stage makes, each from a person and a change, in blocks.
pub(crate) struct PairedRows<'a> {
    /// The person and the change.
    pub(crate) pairs: &'a [(u32, u32)],
    /// The fold of somebody.
    pub(crate) fold: &'a (dyn Fn(u32) -> u8 + Sync),
    /// The rows of some pairs.
    pub(crate) make: MakePairs<'a>,
    /// What messages call the row of a pair.
    pub(crate) name: &'a (dyn Fn((u32, u32)) -> String + Sync),
}

impl PairedRows<'_> {
    fn block(&self, block: usize) -> &[(u32, u32)] {
        &self.pairs[block * BATCH..self.pairs.len().min((block + 1) * BATCH)]
    }
}

impl AskedRows for PairedRows<'_> {
    fn n_blocks(&self) -> usize {
        self.pairs.len().div_ceil(BATCH)
    }

    fn folds(&self, block: usize) -> Result<Vec<Option<u8>>> {
        Ok(self.block(block).iter().map(|(who, _)| Some((self.fold)(*who))).collect())
    }

    fn rows(&self, block: usize) -> Result<FeatureRows> {
        Ok((self.make)(self.block(block)))
    }

    fn name(&self, block: usize, i: usize) -> Result<String> {
        Ok((self.name)(self.block(block)[i]))
    }
}

/// Prepared rows: those that are audited, or those with a label that train for a fold.
pub(crate) struct PreparedRows<'a> {
    pub context: RowContext<'a>,
    pub training: Option<u8>,
}

impl AskedRows for PreparedRows<'_> {
    fn n_blocks(&self) -> usize {
        self.context.rows.n_groups()
    }

    fn folds(&self, group: usize) -> Result<Vec<Option<u8>>> {
        let RowContext { rows, roles, .. } = self.context;
        let roles = roles.read(group)?;
        let folds: Vec<Option<u8>> = (0..roles.0.len()).map(|i| roles.audited(i)).collect();
        let Some(fold) = self.training else { return Ok(folds) };
        let mut found = vec![None; folds.len()];
        training_rows(&rows.read(group, Projection::NO_FEATURES)?, &roles, fold)
            .into_iter()
            .for_each(|i| found[i] = Some(fold));
        Ok(found)
    }

    fn rows(&self, group: usize) -> Result<FeatureRows> {
        self.context.rows.read(group, Projection::ALL).map(|batch| batch.rows)
    }

    fn name(&self, group: usize, i: usize) -> Result<String> {
        row_name(self.context, group, i)
    }
}

/// Audited rows that are asked a second time: in the reverse order of all rows and without the
/// others, so that a model is found whose scores depend on the order or on each other.
pub(crate) struct RecheckedRows<'a>(pub RowContext<'a>, pub &'a RecheckSample);

impl RecheckedRows<'_> {
    /// A block, with these columns of its row group.
    pub(crate) fn block(&self, block: usize, read: Projection) -> Result<RecheckedBlock> {
        let group = self.n_blocks() - 1 - block;
        let (batch, roles) = self.0.read(group, read)?;
        let mut asked = self.1.rows(&batch, &roles, None);
        asked.reverse();
        Ok(RecheckedBlock { group, batch, roles, asked })
    }
}

/// A row group of which rows are asked a second time.
pub(crate) struct RecheckedBlock {
    pub group: usize,
    pub batch: PreparedBatch,
    roles: RowRoles,
    /// The rows that are asked, the last one first.
    pub asked: Vec<usize>,
}

impl AskedRows for RecheckedRows<'_> {
    fn n_blocks(&self) -> usize {
        self.0.rows.n_groups()
    }

    fn folds(&self, block: usize) -> Result<Vec<Option<u8>>> {
        let RecheckedBlock { roles, asked, .. } = self.block(block, Projection::NO_FEATURES)?;
        Ok(asked.into_iter().map(|i| roles.audited(i)).collect())
    }

    fn rows(&self, block: usize) -> Result<FeatureRows> {
        let RecheckedBlock { batch, asked, .. } = self.block(block, Projection::ALL)?;
        Ok(batch.rows.take(&asked))
    }

    fn name(&self, block: usize, i: usize) -> Result<String> {
        let RecheckedBlock { group, asked, .. } = self.block(block, Projection::NO_FEATURES)?;
        row_name(self.0, group, asked[i])
    }
}

/// The counterfactuals of a set and attribute.
pub(crate) struct CounterfactualRows<'a> {
    pub context: RowContext<'a>,
    pub made: CounterfactualReader,
    /// Position of the attribute.
    pub attribute: usize,
    /// The groups that the model knows, for each fold or for all; empty where it is not known.
    pub known: Vec<Vec<bool>>,
    /// Whether they are those of the worlds of causal graphs.
    pub of_worlds: bool,
}

impl AskedRows for CounterfactualRows<'_> {
    fn n_blocks(&self) -> usize {
        self.context.rows.n_groups()
    }

    fn folds(&self, group: usize) -> Result<Vec<Option<u8>>> {
        let (keys, roles) = (self.made.keys(group)?, self.context.roles.read(group)?);
        let fold = |(&parent, &to): (&u32, &u16)| {
            knowing_fold(&self.known, roles.audited(parent as usize)?, to)
        };
        Ok(keys.parent.iter().zip(&keys.to_group).map(fold).collect())
    }

    fn rows(&self, group: usize) -> Result<FeatureRows> {
        self.made.rows(group, self.context.rows.layout()).map(|(_, rows)| rows)
    }

    fn name(&self, group: usize, i: usize) -> Result<String> {
        let keys = self.made.keys(group)?;
        let Attribute { name, groups, .. } = &self.context.rows.layout().attributes[self.attribute];
        let row = row_name(self.context, group, keys.parent[i] as usize)?;
        let to = &groups[usize::from(keys.to_group[i])];
        Ok(format!("{row}, counterfactual with `{name}` = `{to}`"))
    }

    fn are_of_worlds(&self) -> bool {
        self.of_worlds
    }
}

/// What messages call a row: by its id, where the job names one, else by its number in the source.
fn row_name(row_context: RowContext<'_>, group: usize, i: usize) -> Result<String> {
    let id = row_context.rows.read_ids(group)?.text(i);
    Ok(match row_context.rows.layout().row_id {
        RowIdKind::RowNumber => format!("row {id} of the data"),
        RowIdKind::Integer | RowIdKind::Text => format!("row_id `{id}`"),
    })
}
