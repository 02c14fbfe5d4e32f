//! Words that no other list defines, with their explanations: kinds of stages, blocks of a job,
//! scopes, and keys that need more than a line.

/// A kind of stage with what it does, in order.
pub(super) const STAGES: &[(&str, &str)] = &[
    (
        "prepare",
        "reads the rows (Parquet, CSV, catalog, synthetic), applies `keep` and the rules for \
         missing values, encodes columns",
    ),
    ("split", "splits the rows into training rows and audited rows"),
    (
        "discover",
        "finds the best class of causal graphs of each bootstrap of the training rows under the \
         stated knowledge, with their equations",
    ),
    ("train", "trains the models, here or with a program"),
    ("fit", "fits the strategies to the reference rows, one artifact per fold"),
    ("generate", "writes the counterfactuals of the audited rows"),
    (
        "score",
        "scores rows and counterfactuals, here or with a program, or joins scores computed \
         elsewhere; while these are missing, writes the rows to score",
    ),
    ("count", "aggregates scored rows into counts and sums; writes the outcomes"),
    ("measure", "computes metrics with intervals from counts and scores"),
    (
        "augment",
        "retrains models of experiments with added rows, and measures every arm and \
         the original model",
    ),
    (
        "recourse",
        "scores changed versions of people with a model, and finds the subgroups in which the \
         favourable decision is harder to reach for one group than for another",
    ),
    (
        "why",
        "finds traits whose people switch more often than the others on one half of the people, \
         and confirms them on the other half",
    ),
    ("gate", "judges the gates by the tables of metrics, of recourse and of patterns"),
    ("report", "renders the page and assembles the output folder"),
];

pub(super) const BLOCKS: &[(&str, &str)] = &[
    ("person", PERSON),
    ("weight", WEIGHT),
    ("gate", GATE),
    ("recourse", RECOURSE),
    ("may_change", MAY_CHANGE),
    ("unfair_subgroups", UNFAIR),
    (
        "why",
        "block of the job, `why: {NAME: {model: m, counterfactual: flip, direction: {sex: [Female, \
         Male]}, metric: denied_by_group}}`\n\
         traits whose people switch more often than the others: patterns are looked for on one \
         half of the people and tested on the other (Fisher's exact test, Holm's correction)\n\
         the rates to quote are those of the second half; a trait is no cause\n\
         where the set moves features and the model can be asked, also what each feature adds to \
         score and decision (Shapley values), and how many switches it alone undoes",
    ),
    (
        "confirmed_patterns",
        "what gates on `why` judge: the number of patterns whose people switch more often than the \
         others on the half that was not used to find them\n\
         gate: `{why: NAME, patterns_at_most: 0}`",
    ),
    ("clarify", CLARIFY),
    ("flip_test", FLIP_TEST),
    (
        "graph-uncertain",
        "strategy of a counterfactual set: `graph: {graph-uncertain: {discovery: {boss: {}}, \
         bootstraps: 100, knowledge: {none: {}}}}`\n\
         each bootstrap of the training rows gives a class of causal graphs, each graph equations, \
         which move the descendants of the attribute (`mechanism: linear`, or `binned`: by the \
         values of people in the same cell)\n\
         assumptions that no interval reflects: no common cause is missing, independent means \
         unconnected (in a search), effects are linear (`binned`: only in the search)\n\
         every scenario under `knowledge` (tiers, forbidden, required) is a separate set, here \
         `graph/none`; `discovery: {given: {edges: [[a, b]]}}` uses your own graph\n\
         with `levels: expected`, the default, only models trained in the run can score such sets, \
         with `drawn` any model; `counts`, `score_shift` and `outcomes` use the mean \
         score of each person over all graphs",
    ),
    (
        "placebo",
        "key of a counterfactual set, `placebo: {repeats: 20}`: the same strategy with \
         group names shuffled within each label\n\
         the band `placebo_lo` to `placebo_hi` is the range that sampling noise gives; a value \
         inside it may be noise\n\
         a naive set uses no sample: its noise floor is zero",
    ),
    (
        "doubt",
        "key of a counterfactual set, `doubt: {fit: 20}`: the rows that the strategy learns from \
         are drawn again with replacement, the strategy is fitted, and its counterfactuals are \
         scored and counted, so many times\n\
         `fit_lo` to `fit_hi` is the range of the values (below 40 repeats from the smallest to \
         the largest), `fit_var` their variance; the people who are audited stay the same: the \
         interval `lo` to `hi` is about other people, and neither includes the other\n\
         against a baseline the interval of a change includes both if both runs have the key\n\
         only sets that are fitted (greedy, plausible, transport), scored by models that are \
         trained in the run or are files of LightGBM or ONNX\n\
         key of a model that the run trains, `doubt: {training: 5, resample: true}`: it is trained \
         again with other seeds, with `resample` on training rows drawn again, and asked \
         instead of the audited one; `training_lo` to `training_hi` is the range of the values, \
         also of those without counterfactuals, of the arms of experiments and of means over \
         graphs",
    ),
    (
        "cases",
        "`report.cases: N`: so many people who switch, on the page and in `cf_examples`: what \
         changed, score and decision before and after\n\
         drawn by the seed for each model, set and attribute, 0 to 20; with 0, the default, no row \
         of a person leaves the run except in `rows/`",
    ),
    (
        "recheck",
        "key of a model whose scores, decisions or amounts are computed elsewhere, `recheck: \
         {share: 0.01, tolerance: 1.0e-6}`: some unchanged rows are scored again together with the \
         counterfactuals\n\
         they are the lines whose to_group is the row's own group; their scores must be the \
         factual ones within the tolerance\n\
         otherwise another version of the model computed them, and the run ends with \
         `recheck-differs`",
    ),
];

/// What a value is of, in the column `scope` of the tables.
pub(super) const SCOPES: &[(&str, &str)] = &[
    ("group", "the people of one group, as they are"),
    ("total", "all counterfactuals of an attribute together: every group as every other"),
    ("direction", "the people of one group (`from_group`) as members of another (`to_group`)"),
    (
        "pair",
        "two groups compared as they are: A against B, signs are A - B and `di` is B / A; in the \
         family clarify A is the favoured facet",
    ),
    (
        "one_vs_rest",
        "a group compared with all others together: the one whose name is empty, A or B, is all \
         others",
    ),
    (
        "worst_case",
        "the groups that are furthest apart: highest minus lowest, lowest over highest, or the \
         largest distance to all",
    ),
    (
        "difference",
        "the direction from the first group to the second minus the one back; of a ratio over it",
    ),
    ("one_to_rest", "the people of one group (`from_group`) as members of all others"),
    ("rest_to_one", "the people of all other groups as members of one (`to_group`)"),
];

/// Other words that messages, tables and papers use.
pub(super) const WORDS: &[(&str, &str)] = &[
    (
        "set",
        "an entry of `counterfactuals`: for each audited person and each other group one or \
         several counterfactuals by one strategy; every metric of a set says which one it is about",
    ),
    (
        "naive",
        "strategy of a counterfactual set: the sensitive attribute takes the other group's value \
         and nothing else changes",
    ),
    (
        "sensitive",
        "data.sensitive: the protected attributes, each with its groups and a reference group",
    ),
    (
        "reference",
        "the group with which others are compared (`data.sensitive.NAME.reference`), or rows that \
         strategies learn from (`data.reference`)",
    ),
    (
        "python",
        "kind of model: `python: {pickle: FILE}` for a pickled model with `predict_proba`, \
         `python: {call: \"module:function\"}` for a function that scores rows",
    ),
    ("classes", CLASSES),
    ("one_vs_all", CLASSES),
    (
        "world",
        "the graphs of one bootstrap that give the same counterfactuals; it counts as often as it \
         has graphs\n\
         every metric of a graph-uncertain set has a value in each world (table `worlds`); its \
         value is the mean over graphs, `world_lo` to `world_hi` their central interval, `lo` to \
         `hi` the interval over people\n\
         `between_lo` to `between_hi` is the interval over graphs, each fitted on all training \
         rows; `within_lo` to `within_hi` the interval over refits of the coefficients; \
         `between_var`, `within_var` and `mixed_var` add up to `world_var`\n\
         a gate with `decide_by: worlds` is judged by `world_lo` and `world_hi`: graphs and refits \
         together, without other people",
    ),
    (
        "boundary",
        "why a value has no interval, or a gate is inconclusive: a count above a ratio or \
         below it is 0, or everybody adds the same, as where all scores move alike\n\
         more people, or a metric with its own counts, may help",
    ),
    (
        "biased",
        "why a divergence of histograms of scores has no interval: those of few people are apart \
         even where those of everybody are not, so no interval holds the divergence of everybody\n\
         gate on rmscd, macd or jscd instead",
    ),
    (
        "few_units",
        "why a score metric has no interval: one person says nothing about others\n\
         audit more people",
    ),
    (
        "selective_labels",
        "flag of a value that needs labels where these are missing for some groups or decisions \
         more often than for others; a gate on it is inconclusive\n\
         the issue `selective` gives the shares; if repayment is known only for granted \
         loans, gate on metrics that need no label",
    ),
    (
        "unmeasured-people",
        "why a gate is inconclusive: people without a score, a valid counterfactual or a group \
         could break a limit that the others keep; the reason says how many of them would be \
         enough\nthe table `population` counts them: get their scores or groups, leave such rows \
         out by `data.keep` (then no result is about them), or let the limit leave room for them",
    ),
    (
        "small_group",
        "flag of a value based on a group of fewer people than `metrics.min_group_size`; a \
         gate on a gap or a distance is then inconclusive, except a worst case in which the \
         interval of other groups breaks the limit",
    ),
    (
        "small_denominator",
        "flag of a value based on a rate of fewer cases than `metrics.min_denominator`; a \
         gate on a gap or a distance is then inconclusive, except a worst case in which the \
         interval of other groups breaks the limit",
    ),
    (
        "rate_of_one",
        "flag of a ratio with a rate of 1, which Katz's interval takes as certain\n\
         a gate on it decides only where the hybrid of Wilson's intervals of both rates (MOVER-R) \
         decides alike; a gate on the difference needs no such care",
    ),
    (
        "negative_part",
        "flag of a ratio of correlations of which one is negative: it does not say how many times \
         as much one is, and a gate on it is inconclusive; gate on the difference",
    ),
    (
        "binned",
        "flag of a value of the family `scores` from 200,000 rows on: scores are counted in \
         cells, 65,536 over the scale and finer ones near its ends, in which they count as ties",
    ),
    (
        "decide_by",
        "what decides a gate: `interval` (the whole interval must keep or break the limit; \
         otherwise the gate is inconclusive), `worlds` (the interval over causal graphs and refits \
         of their coefficients), `fit` (the range over fits of a set with `doubt`), `training` \
         (the range over trainings of a model with `doubt`), `all` (each of these that the value \
         has) or `estimate` (only the value)",
    ),
    (
        "withstands",
        "the strength of a hidden cause that a gate asks a pass to withstand: the share that \
         something that no column holds explains of what is left of the attribute given what \
         cannot follow from it, and of what is left of the score\n\
         a pass that turns at it or below is inconclusive (`hidden-cause`), a fail stays a fail; \
         the table `hidden_cause` has where each verdict turns\n\
         it holds in linear worlds for any such cause that acts alike in all groups, and does not \
         say how strong unrecorded causes are",
    ),
    (
        "inconclusive",
        "verdict of a gate that neither passes nor fails: the limit lies inside the interval, or \
         there are fewer cases than `enough`, no value, no interval, or people who were not \
         measured\n\
         `on_inconclusive` defines the result of the run; `cfaudit power` says how many people \
         would decide the gate",
    ),
    (
        "power",
        "how many people would decide a gate: `cfaudit power JOB` before a run, `cfaudit power \
         DIR` after it, and the columns `n_needed_80` and `detectable` of the table `gates`\n\
         an audit of few people finds no difference because it cannot, which is not a pass: the \
         gate is inconclusive",
    ),
    (
        "proxy",
        "a feature that is associated with the sensitive attribute, so that a model without \
         the attribute treats groups differently nevertheless\n\
         sets such as `greedy`, `plausible`, `transport` and `graph-uncertain` move such features \
         with the attribute, and a block `why` tells through which features people switch; \
         `naive` moves none",
    ),
    (
        "refitted",
        "status of a change: the set was fitted on other rows in the two runs, so the change is \
         reported and not judged\n\
         a fixed `data.reference`, or `doubt: {fit: 20}` in the set of both runs, lets it be \
         judged",
    ),
    (
        "on_inconclusive",
        "result of a run with an inconclusive gate: `fail` (the default: exit status 1) \
         or `warn`",
    ),
    (
        "rise_at_most",
        "limit of a gate with `against: baseline`: by how much the value may exceed that of the \
         baseline; `fall_at_most`: by how much it may be lower",
    ),
    ("harm_to", HARM_TO),
    (
        "favourable",
        "data.label.favourable, or data.favourable in a job with `label: none`: which prediction \
         people want, `positive` or `negative`",
    ),
    (
        "fall_at_most",
        "limit of a gate with `against: baseline`: by how much the value may be below that of the \
         baseline",
    ),
    ("family_error", "`holm`: the comparisons of one gate are judged together; see `holm`"),
    (
        "compare",
        "metrics.compare: {challenger: current} compares models on the same people, in the \
         table `comparisons` and the report\n\
         a difference is the value of the first model minus that of the second; its interval takes \
         together what a person adds to both\n\
         of the families performance, group, ccm and eccm, and of the family scores, on the rows \
         that both models score",
    ),
    (
        "holm",
        "gates.G.family_error: holm judges the comparisons of a gate (`direction: any`) together: \
         sorted by how clearly they break the limit, the k-th of m by its interval at the level 1 \
         - alpha / (m - k + 1), stopping at the first that does not break it\n\
         so the probability that any comparison is wrongly called broken is that of a single \
         comparison",
    ),
    (
        "any_switch",
        "the rates `sr_any`, `psr_any` and `nsr_any`: a person with counterfactuals in several \
         groups counts once, as switched if any of them switches",
    ),
    (
        "noise",
        "the results of a counterfactual set with shuffled, and therefore meaningless, group \
         names: the band `placebo_lo` to `placebo_hi`\n\
         with fewer than 40 repeats it runs from the smallest to the largest value, otherwise from \
         the 2.5 % to the 97.5 % quantile; see `placebo`",
    ),
    ("macro", VIEWS),
    ("micro", VIEWS),
    ("budget", BUDGET),
    (
        "no_actions",
        "a subgroup has no valid action: no change that the job allows leads to levels that enough \
         people with the favourable decision have",
    ),
    (
        "farther",
        "a feature that moved and is less like its target group than before: `dist_after` is \
         larger than `dist_before`",
    ),
    (
        "valid",
        "a counterfactual that passed the filter (`keep_within`) and the checks (`range`, \
         `direction`) of its set; others are discarded and excluded from every metric, see \
         `share_discarded`",
    ),
    (
        "waiting",
        "a score file named in the job does not exist: the run writes the rows to score, measures \
         what the scores that are there allow, and ends with status 4\n\
         write the scores elsewhere, rename the complete file to the expected name, and run the \
         same command again; for an unreadable file the run ends with status 4 until the file is \
         15 minutes old\n\
         the file answers the rows to score as they were written: after a change of data, \
         features, set, `run.seed` or `recheck`, remove it and run again; if it has the column \
         `request` of the rows to score, cfaudit checks this (`other-request`)",
    ),
    (
        "to-score",
        "output folder of a waiting run: `factual/` holds the unchanged rows (key `row_id`), a \
         folder named after each set holds its counterfactuals (key row_id, sensitive, from_group, \
         to_group, cf_index), as `part-*.parquet`\n\
         the column `request` after the key is the SHA-256 of all rows of the folder: copy it into \
         the score file, and cfaudit checks that the scores belong to these rows\n\
         then come the sensitive columns and the features, under the names and with the types of \
         the source",
    ),
];

const PERSON: &str = "data.person: C names the column that says whose row it is, where a person \
    may have several: integers or text, in every row\n\
    numbers of people are rows then, and the tables hold the persons next to them: n_persons, \
    denominator_persons, persons\n\
    small_group, small_denominator and `enough` count persons\n\
    splits and folds rank persons; the first row of a person gives the stratum\n\
    intervals take what each person adds; of shares, differences and ratios: Wilson, Newcombe and \
    Katz with the rows divided by the design effect of persons (n_eff)\n\
    labels of several classes, the family clarify, causal graphs and placebos follow the same \
    rules; recourse and why judge one row of each person, drawn by the seed";

const WEIGHT: &str = "data.weight: C names the column with the number of people that a row \
    represents: 0 or more\n\
    models trained in the run, every value, interval and gate use it; a common factor of all \
    weights changes no value\n\
    numbers of people count every person once; small_group, small_denominator and `enough` leave \
    out people of weight 0 (n_persons and denominator_persons in metrics)\n\
    in metrics, weight_numerator over weight_denominator is the value of a rate; numerator and \
    denominator are the cases behind it\n\
    intervals take what each person adds, of shares on the effective number of rows (n_eff)\n\
    weights are added as integer multiples of their greatest common divisor if the largest is at \
    most 2^32 times that divisor; otherwise each is rounded by less than 2^-32 of the largest";

const CLARIFY: &str = "metrics.clarify: {favoured: {sex: [Male]}, strata: occupation, flip_test: \
    {}} specifies how the family clarify is measured\n\
    favoured: groups that are favoured, each against every group that is not among them; rest: \
    every group against all others together; default: the reference\n\
    strata: the column by whose values CDDPL is averaged; people without a value are excluded from \
    it and counted\n\
    labels and predictions are counted by the favourable side, which data.label names; `di` is of \
    the family group and measured for these facets too";

const RECOURSE: &str = "block of the job, recourse: {ATTRIBUTE: {model, subgroups, actions, \
    may_change, ...}}: what would refused people have to change, and is that harder for one group \
    than for another?\n\
    a subgroup is all affected people who share some traits, an action the levels it leads to; an \
    action counts where enough people with the favourable decision have these levels\n\
    definitions: equal-effectiveness (the same share can be helped), equal-choice (as many actions \
    that help a share phi), equal-effectiveness-within-budget (the same share within a budget), \
    equal-cost-of-effectiveness (a share phi at the same cost), fair-trade-off (the same share at \
    every cost), equal-conditional-mean-recourse (the same mean cost of those who can be helped), \
    mean-recourse (of all people; those whom no action helps count with no_way_costs)\n\
    phi is a share of the people of a group in a subgroup; if no action, at any cost, helps that \
    many, the cost is infinite, even if some can be helped\n\
    views: macro, the same action for all people of a subgroup; micro, for each person the action \
    that helps\n\
    tables: recourse, recourse_columns, subgroups, actions, ecd, comparatives, ranking_analysis, \
    aggregated_rankings\n\
    every person counts once, without weights; of the rows of a person (data.person) the seed \
    draws one, so that all numbers of people are persons\n\
    after Fairness Aware Counterfactuals for Subgroups \
    (FACTS)";

const VIEWS: &str = "how a definition of recourse sees a subgroup: macro, the same action for all \
    of its people; micro, for each person the action that helps\n\
    under an additive model both give the same values; if they agree in every subgroup, the page \
    counts them as one view";

const BUDGET: &str = "key of equal-effectiveness-within-budget: the maximum cost of an action\n\
    budgets: costs; budget_percentiles: percentiles of the costs at which half of a group in a \
    subgroup are helped";

const MAY_CHANGE: &str = "key of a block of recourse: what people may change, by column; a column \
    that is not named may not change\n\
    any: freely; up, down: only to a higher or lower position of the declared order, or number; \
    never: not at all\n\
    {up: {steps: 2}}: at most two positions (for numbers without bins: at most this difference); \
    {any: {not_to: [LEVEL]}}: not to these levels\n\
    no value becomes missing, and a missing value moves neither up nor down";

const UNFAIR: &str = "what gates on recourse count: subgroups that are unfair by one definition \
    and view\n\
    gates: {NAME: {recourse: ATTRIBUTE, definition: {equal-cost-of-effectiveness: {phi: 0.7}}, \
    unfair_subgroups_at_most: 0, smallest: 100}}\n\
    view: default macro; score_at_least: default any score above 0; smallest: affected \
    people in the smaller group of a subgroup\n\
    subgroups against either group count; each pair of groups is judged and the worst decides; \
    inconclusive where no subgroup has actions and so many people";

const FLIP_TEST: &str = "metrics.clarify.flip_test: {neighbours: 5, scale: none, max_rows: 100000} \
    runs FT: for each person of the disfavoured facet the nearest people of the favoured facet \
    vote on the prediction\n\
    distances are Euclidean over the numeric features, unscaled or in standard deviations; with \
    tied distances the earlier row is used\n\
    above max_rows people a seeded sample is drawn, flagged `sampled`; ci_method gives its size\n\
    the interval is that of the paired differences of the people of the disfavoured facet";

const CLASSES: &str = "data.label.classes: [Low, Medium, High] makes each value of the \
    label a class; models give a score per class (`columns: {Low: p_low, ...}`), and the class \
    with the highest score is predicted, with ties the one named first\n\
    for all classes together (`class` empty in the tables): acc and mcc of labels and predictions, \
    cr, sr and cmcc of counterfactuals, and their differences; the cells of the matrices are in \
    `counts`, the rates from class to class in `transitions`\n\
    every other metric compares one class with all others (`class` names it): the class is \
    positive, all others are negative, and the score is that of the class; nsr is how often \
    predictions leave the class, psr how often they join it\n\
    a group at a disadvantage is named only for a class that alone forms its side \
    of `positive`\n\
    the flip test, slices, compare, placebo, doubt, experiments, why, cases, causal graphs and \
    kept outcomes are not supported";

const HARM_TO: &str = "gates: {NAME: {harm_to: {sex: Female}, model: M, counterfactual: S, \
    at_most: 0.02}}\n\
    two shares must keep the limit, against each other group B: denied_by_group from Female to B \
    (refused, and granted as B) and favoured_by_group from B to Female (granted, and refused as \
    Female)\n\
    each has a row in the table `gates`; fail if any fails, else inconclusive if any is \
    inconclusive or undefined, else pass\n\
    each is judged separately; `family_error: holm` judges them together";

const GATE: &str = "one question about one metric, or about harm to a group (`harm_to`), with a \
    limit\n\
    at_most L, decide_by interval: pass where the whole interval is at or below L, fail where all \
    of it is above, else inconclusive\n\
    at_least L mirrors it; decide_by estimate uses only the value\n\
    decide_by worlds uses the interval over causal graphs and refits of their coefficients \
    instead, decide_by fit the range over fits of a set with `doubt`, decide_by training that \
    over trainings of a model with `doubt`, decide_by all each of these that the value has; \
    metrics of graphs, such as h_ga, need no model and have no interval\n\
    fewer cases than `enough`, an undefined value or a missing interval are inconclusive, never a \
    pass\n\
    level warn is only shown; with level fail, a fail (and, with on_inconclusive: fail, an \
    inconclusive gate) ends the run with status 1";
