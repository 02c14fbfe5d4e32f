//! Changes of bytes and of texts, drawn from a seed.

use cfaudit::num::seed::sm;

/// A source of choices: the same seed gives the same ones.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice(sm(seed))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        sm(self.0)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.bits() % n as u64) as usize }
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// One of several inputs.
    pub(super) fn seed<'a>(&mut self, seeds: &'a [Vec<u8>]) -> &'a [u8] {
        &seeds[self.below(seeds.len())]
    }
}

/// Powers of two at which, or one before which, lengths and offsets go wrong.
const EDGES: &[u32] = &[0, 1, 3, 7, 8, 15, 16, 31, 32, 40, 63, 64];

/// One to eight changes between `from` and the end.
pub(super) fn bytes(input: &mut Vec<u8>, from: usize, seeds: &[Vec<u8>], dice: &mut Dice) {
    for _ in 0..=dice.below(8) {
        let len = input.len();
        if len <= from {
            input.push(dice.bits() as u8);
            continue;
        }
        let at = from + dice.below(len - from);
        let run = (1 + dice.below(16)).min(len - at);
        match dice.below(9) {
            0 | 1 => input[at] ^= 1 << dice.below(8),
            2 => input[at] = dice.bits() as u8,
            3 => {
                let power = 1_u64.checked_shl(dice.of(EDGES)).unwrap_or(0);
                let number = power.wrapping_sub(dice.below(2) as u64).to_le_bytes();
                let width = (dice.of(&[1, 2, 4, 8])).min(len - at);
                input[at..at + width].copy_from_slice(&number[..width]);
            }
            4 => drop(input.drain(at..at + run)),
            5 => {
                let copy = input[at..at + run].to_vec();
                input.splice(at..at, copy);
            }
            6 => {
                let new: Vec<u8> = (0..run).map(|_| dice.bits() as u8).collect();
                input.splice(at..at, new);
            }
            7 => {
                let other = dice.seed(seeds);
                let start = dice.below(other.len());
                let part = &other[start..(start + 64).min(other.len())];
                let end = (at + part.len()).min(len);
                input.splice(at..end, part.iter().copied());
            }
            _ => {
                if dice.one_in(8) {
                    input.truncate(at);
                }
            }
        }
    }
}

/// What means something in YAML or CSV, or has caused faults in other programs.
fn signs() -> Vec<&'static str> {
    "null¦~¦-0¦1e999¦-1¦0¦0.5¦18446744073709551616¦0x10¦.nan¦.inf¦true¦no¦&a¦*a¦\
     <<: *a¦!!binary¦!x¦|¦>¦\t¦- ¦{¦}¦[¦]¦{}¦[]¦'¦\"¦: ¦:¦#¦,¦;¦${vars.x}¦${vars.¦\
     ${¦---¦...¦? ¦%YAML 1.2¦\u{feff}¦é¦\u{202e}¦\0¦\r\n¦\r¦\n\n¦  ¦NaN¦inf¦1,5¦\
     \"\"¦\"a\nb\"¦=cmd()¦all¦label¦any¦2000-01-01¦9007199254740993¦-1e308¦\
     0.1e-400¦0xffffffffffffffffff¦1_000¦\u{85}¦${vars.a.b}¦&a [*a]¦!!map ¦> ¦\
     %s {0} {}¦👩‍👩‍👧 é\u{301}"
        .split('¦')
        .collect()
}

/// One to six changes of words and lines of a text; now and then of its bytes.
pub(super) fn text(input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
    for _ in 0..=dice.below(6) {
        let text = String::from_utf8_lossy(input).into_owned();
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let at = dice.below(lines.len());
        match dice.below(13) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = dice.below(lines.len());
                lines.swap(at, other);
            }
            3 => lines[at].insert_str(0, dice.of(&["  ", " ", "    ", "\t"])),
            4 => lines[at] = lines[at].trim_start().to_owned(),
            5 => {
                let other = String::from_utf8_lossy(dice.seed(seeds)).into_owned();
                let other: Vec<&str> = other.split('\n').collect();
                lines.insert(at, dice.of(&other).to_owned());
            }
            6 | 7 => {
                let new = if dice.one_in(2) {
                    dice.of(&signs()).to_owned()
                } else {
                    let seed = dice.seed(seeds).to_vec();
                    word_of(&seed, dice)
                };
                replace_word(&mut lines[at], &new, dice);
            }
            8 => {
                let line = &mut lines[at];
                let places: Vec<usize> =
                    line.char_indices().map(|(i, _)| i).chain([line.len()]).collect();
                let at = dice.of(&places);
                line.insert_str(at, dice.of(&signs()));
            }
            9 => {
                let block = lines[at..(at + dice.below(12)).min(lines.len())].to_vec();
                let to = dice.below(lines.len());
                lines.splice(to..to, block);
            }
            10 => {
                let word = dice.of(&signs());
                let long = dice.of(&[word, "x", "[", "{a: "]).repeat(1 << dice.below(13));
                replace_word(&mut lines[at], &long, dice);
            }
            11 => {
                let (one, other) = (word_of(input, dice), word_of(input, dice));
                lines[at] = lines[at].replacen(&one, &other, 1);
            }
            _ => {
                *input = lines.join("\n").into_bytes();
                if dice.one_in(4) {
                    bytes(input, 0, seeds, dice);
                }
                continue;
            }
        }
        *input = lines.join("\n").into_bytes();
    }
}

/// Where words begin and end: runs of letters, digits, `_`, `-` and `.`.
fn words(line: &str) -> Vec<(usize, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (i, c) in line.char_indices().filter(|(_, c)| is_word(*c)) {
        match found.last_mut() {
            Some((_, end)) if *end == i => *end = i + c.len_utf8(),
            _ => found.push((i, i + c.len_utf8())),
        }
    }
    found
}

fn word_of(seed: &[u8], dice: &mut Dice) -> String {
    let seed = String::from_utf8_lossy(seed).into_owned();
    let found = words(&seed);
    if found.is_empty() {
        return String::new();
    }
    let (from, to) = dice.of(&found);
    seed[from..to].to_owned()
}

fn replace_word(line: &mut String, new: &str, dice: &mut Dice) {
    let found = words(line);
    if found.is_empty() {
        line.push_str(new);
        return;
    }
    let (from, to) = dice.of(&found);
    line.replace_range(from..to, new);
}
