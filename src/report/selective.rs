//! Who is left out, or lacks something, more often than others: the arguments of the issue
//! `selective`, and its sentences by `selective.html`. The table uses the names of groups, the page
//! the words that the job has for them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, context};
use serde::{Deserialize, Serialize};

use crate::metric::rate::Rate;
use crate::report::brief::voice::AuditVoice;
use crate::report::page::render::add_shares;
use crate::table::IssueRow;
use crate::text::{self, fact};

/// Whose share it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShareOwner {
    /// A group.
    Group(String),
    /// Those with a group, or those without.
    Grouped(bool),
    /// Those with one of the two decisions of a model.
    Decision { favourable: bool, model: String },
    /// Those with a class by a model of several, or with another one.
    Class { class: String, model: String, other: bool },
}

/// A share of people, or of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnedShare {
    n: u64,
    of: u64,
    owner: ShareOwner,
}

impl OwnedShare {
    pub(crate) fn new(owner: ShareOwner, share: Rate) -> Self {
        OwnedShare { n: share.numerator, of: share.denominator, owner }
    }
}

/// The arguments of an issue, by the state in its row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelectiveArgs {
    /// The model whose scores or decisions it is about; none where several are, or none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Whether shares are of rows of people.
    pub(crate) of_rows: bool,
    /// Each two shares that differ.
    pub(crate) shares: Vec<[OwnedShare; 2]>,
}

impl SelectiveArgs {
    /// The warning that a state holds some people more often than others, as a row of its table.
    pub(crate) fn issue(&self, state: &str, attribute: &str, n: i64) -> IssueRow {
        static WORDS: LazyLock<Environment<'static>> = LazyLock::new(|| {
            let mut words = text::environment();
            words.set_auto_escape_callback(|_| AutoEscape::None);
            words.add_global("in_table", true);
            words.add_filter("count", |n: u64| n);
            add_shares(&mut words);
            let source = include_str!("brief/selective.html");
            words.add_template("selective.html", source).expect(text::TESTED);
            words
        });
        let facts = context!(args => fact(self), state, attribute, called => context!());
        let text = text::said(&WORDS, "selective.html", "selective", &[facts]);
        let args = serde_json::json!(self).to_string().into();
        let state = Some(state.into());
        IssueRow { state, args, ..IssueRow::warning("selective", attribute, n, text) }
    }
}

/// The facts of such an issue for the page, with its words for the groups that the job declares;
/// none where its row does not hold them.
pub(crate) fn facts(issue: &IssueRow, voice: &AuditVoice<'_>) -> Option<Value> {
    let args: SelectiveArgs = serde_json::from_str(&issue.args).ok()?;
    let groups = voice.groups(&issue.r#where).iter();
    let called: BTreeMap<&str, String> =
        groups.map(|group| (group.as_str(), voice.people(&issue.r#where, group))).collect();
    let (state, attribute) = (issue.state.as_deref(), issue.r#where.as_str());
    args.shares.first()?;
    let [args, called] = [fact(&args), fact(&called)];
    Some(context!(args, state, attribute, called))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use minijinja::context;
    use minijinja::value::{Serde, Value};

    use super::{OwnedShare, SelectiveArgs, ShareOwner};
    use crate::metric::rate::Rate;
    use crate::report::page::render::environment;

    fn group(name: &str, n: u64) -> OwnedShare {
        OwnedShare::new(ShareOwner::Group(name.to_owned()), Rate::of(n, 40_000))
    }

    /// What the page says, with words for the group `f`.
    fn on_page(args: &SelectiveArgs, state: &str) -> String {
        let called = Value::from(Serde(&BTreeMap::from([("f", "women")])));
        let facts = context!(args => Value::from(Serde(args)), state, attribute => "sex", called);
        let page = "{% from \"selective.html\" import selective %}{{ selective(f) }}";
        environment(None).render_str(page, context!(f => facts)).unwrap()
    }

    #[test]
    fn the_page_has_words_for_declared_groups() {
        let shares = vec![[group("f", 16_000), group("m; n", 4000)]];
        let mut args = SelectiveArgs { model: Some("gbm".to_owned()), of_rows: true, shares };
        let said = on_page(&args, "dropped");
        assert_eq!(
            said,
            "rows that lack a value were left out, in some groups more often than in others: 40.0 \
             % of the rows of women (16\u{202f}000 of 40\u{202f}000) and 10.0 % of those of m; n (4000 \
             of 40\u{202f}000); all results describe the rows that are left, and with all rows the \
             gaps between these groups may differ"
        );
        args.of_rows = false;
        assert!(on_page(&args, "without_score").contains("40.0 % of women (16\u{202f}000"));
        let row = args.issue("without_score", "sex", 9);
        let said = "scores of `gbm` are missing for some groups more often than for others: 40.0 % \
                    of the people of `f` (16000 of 40000) and 10.0 % of those of `m; n` (4000 of \
                    40000) have none; its metrics are about the others";
        assert_eq!(row.text.as_str(), said);
        assert_eq!(serde_json::from_str::<SelectiveArgs>(&row.args).unwrap(), args);
    }

    #[test]
    fn the_page_tells_the_first_two_of_many_differences() {
        let differences = |n: usize| SelectiveArgs {
            shares: vec![[group("f", 16_000), group("m", 4000)]; n],
            ..SelectiveArgs::default()
        };
        let more = "; and 2 more differences (annex, What was excluded); metrics that need";
        let said = on_page(&differences(4), "without_label");
        assert!(said.contains(more) && said.matches("have no label").count() == 2, "{said}");
        let said = on_page(&differences(3), "without_label");
        assert!(!said.contains("more differences") && said.matches("women").count() == 3);
        let row = differences(4).issue("without_label", "sex", 9);
        assert_eq!(row.text.matches("have no label").count(), 4, "the table has all");
    }
}
