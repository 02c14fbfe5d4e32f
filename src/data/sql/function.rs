//! The functions and operators that an expression may use: all of them look at one row.

use crate::data::values::ValueClass;

macro_rules! sql_functions {
    ($($name:ident)+) => {
        /// A function or operator. The arguments of `Case` are conditions and values in turn; an
        /// odd one at the end is the value of `ELSE`. `DateDiff` has the unit first. `TryNumber` is
        /// a text as a number; missing where it is none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum SqlFunction { $($name,)+ }
    };
}

sql_functions! {
    Add Subtract Multiply Divide Remainder Negate Equal NotEqual Less LessOrEqual Greater
    GreaterOrEqual Distinct And Or Not IsNull IsTrue IsFalse Case Coalesce NullIf Greatest Least Abs
    Ceil Floor Round Sign Sqrt Exp Ln Log2 Log10 Power Lower Upper Length Trim LeftTrim RightTrim
    Substring Left Right Replace Concat ConcatOperator StartsWith EndsWith Contains Like ILike Year
    Month Day DateDiff TryNumber
}

/// What a function takes and gives.
pub(super) struct SqlSignature {
    /// The name by which an expression calls it.
    pub(super) name: &'static str,
    pub(super) function: SqlFunction,
    /// The types of its arguments; the last one represents all further ones.
    pub(super) takes: &'static [ValueClass],
    /// Fewest and most arguments.
    pub(super) n: (usize, usize),
    pub(super) gives: ValueClass,
}

/// For each name the function, the types that it takes, its fewest and most arguments, and what it
/// gives.
macro_rules! sql_signatures {
    ($($name:literal $function:ident($takes:ident $least:literal $most:literal) $gives:ident;)+) => {
        [$(SqlSignature {
            name: $name,
            function: SqlFunction::$function,
            takes: $takes,
            n: ($least, $most),
            gives: ValueClass::$gives,
        }),+]
    };
}

const ANY: &[ValueClass] = &[ValueClass::Empty];
const BOOL: &[ValueClass] = &[ValueClass::Bool];
const NUMBER: &[ValueClass] = &[ValueClass::Float];
const TEXT: &[ValueClass] = &[ValueClass::Text];
const TEXT_NUMBER: &[ValueClass] = &[ValueClass::Text, ValueClass::Float];

/// The functions that are called by a name. Those of [`ValueClass::Empty`] take and give what their
/// arguments have in common.
pub(super) const FUNCTIONS: &[SqlSignature] = &sql_signatures! {
    "abs" Abs(NUMBER 1 1) Float; "ceil" Ceil(NUMBER 1 1) Float; "ceiling" Ceil(NUMBER 1 1) Float;
    "coalesce" Coalesce(ANY 1 100) Empty; "concat" Concat(TEXT 1 100) Text;
    "contains" Contains(TEXT 2 2) Bool; "date_diff" DateDiff(TEXT 3 3) Float;
    "datediff" DateDiff(TEXT 3 3) Float; "day" Day(TEXT 1 1) Float;
    "ends_with" EndsWith(TEXT 2 2) Bool; "exp" Exp(NUMBER 1 1) Float;
    "floor" Floor(NUMBER 1 1) Float; "greatest" Greatest(ANY 1 100) Empty;
    "ifnull" Coalesce(ANY 2 2) Empty; "least" Least(ANY 1 100) Empty;
    "left" Left(TEXT_NUMBER 2 2) Text; "length" Length(TEXT 1 1) Float; "ln" Ln(NUMBER 1 1) Float;
    "log10" Log10(NUMBER 1 1) Float; "log2" Log2(NUMBER 1 1) Float; "lower" Lower(TEXT 1 1) Text;
    "ltrim" LeftTrim(TEXT 1 1) Text; "mod" Remainder(NUMBER 2 2) Float;
    "month" Month(TEXT 1 1) Float; "nullif" NullIf(ANY 2 2) Empty; "pow" Power(NUMBER 2 2) Float;
    "power" Power(NUMBER 2 2) Float; "replace" Replace(TEXT 3 3) Text;
    "right" Right(TEXT_NUMBER 2 2) Text; "round" Round(NUMBER 1 2) Float;
    "rtrim" RightTrim(TEXT 1 1) Text; "sign" Sign(NUMBER 1 1) Float;
    "sqrt" Sqrt(NUMBER 1 1) Float; "starts_with" StartsWith(TEXT 2 2) Bool;
    "substr" Substring(TEXT_NUMBER 2 3) Text; "substring" Substring(TEXT_NUMBER 2 3) Text;
    "trim" Trim(TEXT 1 1) Text; "upper" Upper(TEXT 1 1) Text; "year" Year(TEXT 1 1) Float;
};

/// Operators, and forms with words of their own.
const OPERATORS: &[SqlSignature] = &sql_signatures! {
    "+" Add(NUMBER 2 2) Float; "-" Subtract(NUMBER 2 2) Float; "*" Multiply(NUMBER 2 2) Float;
    "/" Divide(NUMBER 2 2) Float; "-" Negate(NUMBER 1 1) Float; "AND" And(BOOL 2 100) Bool;
    "OR" Or(BOOL 2 100) Bool; "NOT" Not(BOOL 1 1) Bool; "IS TRUE" IsTrue(BOOL 1 1) Bool;
    "IS FALSE" IsFalse(BOOL 1 1) Bool; "LIKE" Like(TEXT 2 2) Bool;
    "ILIKE" ILike(TEXT 2 2) Bool; "||" ConcatOperator(TEXT 2 2) Text;
    "TRY_CAST" TryNumber(TEXT 1 1) Float;
};

/// What a function or operator takes and gives, where its arguments decide nothing else.
pub(super) fn signature_of(function: SqlFunction) -> Option<&'static SqlSignature> {
    FUNCTIONS.iter().chain(OPERATORS).find(|known| known.function == function)
}

/// Functions that look at other rows.
pub(super) const OF_ROWS: &str = "\
    any_value approx_quantile arg_max arg_min array_agg avg corr count covar_pop covar_samp \
    cume_dist dense_rank first first_value group_concat lag last last_value lead list max mean \
    median min mode nth_value ntile percent_rank quantile quantile_cont quantile_disc rank \
    row_number std stddev stddev_pop stddev_samp string_agg sum unnest var var_pop var_samp \
    variance";

/// Functions that give another value each time.
pub(super) const OF_CHANCE: &str = "\
    current_date current_time current_timestamp gen_random_uuid getdate localtime localtimestamp \
    now rand random setseed sysdate today transaction_timestamp uuid";
