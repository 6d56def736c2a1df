//! Which words of a page differ.
//!
//! They are compared in their order; a longest common subsequence tells a changed word from a
//! missing one.

use super::Difference;
use super::words::Word;

/// Cells of the table of a comparison; beyond that, words are compared by their places only.
const CELLS_MAX: usize = 4 << 20;

/// Words of `shown` that do not follow, and words of `follows` that are missing. Both are of one
/// page. The search ends after about `most`.
pub(super) fn words(shown: &[Word], follows: &[Word], most: usize) -> Vec<Difference> {
    let same = |(one, other): &(&Word, &Word)| one.text == other.text;
    let before = shown.iter().zip(follows).take_while(same).count();
    let (left, right) = (&shown[before..], &follows[before..]);
    let after = left.iter().rev().zip(right.iter().rev()).take_while(same).count();
    let (left, right) = (&left[..left.len() - after], &right[..right.len() - after]);
    let mut differences = Vec::new();
    let (mut gone, mut new): (Vec<&Word>, Vec<&Word>) = (Vec::new(), Vec::new());
    for step in steps(left, right) {
        if differences.len() + gone.len().max(new.len()) > most {
            break;
        }
        match step {
            Step::Both => flush(&mut gone, &mut new, shown, follows, &mut differences),
            Step::Shown(at) => gone.push(&left[at]),
            Step::Follows(at) => new.push(&right[at]),
        }
    }
    flush(&mut gone, &mut new, shown, follows, &mut differences);
    differences
}

/// Pairs the words of a gap.
fn flush(
    gone: &mut Vec<&Word>,
    new: &mut Vec<&Word>,
    shown: &[Word],
    follows: &[Word],
    differences: &mut Vec<Difference>,
) {
    for at in 0..gone.len().max(new.len()) {
        let (one, other) = (gone.get(at), new.get(at));
        let (word, all) = match (one, other) {
            (Some(one), _) => (*one, shown),
            (None, Some(other)) => (*other, follows),
            (None, None) => continue,
        };
        let text = |word: Option<&&Word>| word.map_or_else(String::new, |word| word.text.clone());
        differences.push(Difference::Word {
            page: word.page,
            beside: beside(word, all),
            shown: text(one),
            follows: text(other),
        });
    }
    gone.clear();
    new.clear();
}

/// Words that name what `word` is: the first ones in its line.
fn beside(word: &Word, all: &[Word]) -> String {
    const WORDS: usize = 8;
    let in_line = all
        .iter()
        .filter(|other| (other.at[1] - word.at[1]).abs() < 0.5 && other.at[0] <= word.at[0]);
    let mut in_line: Vec<&Word> = in_line.collect();
    in_line.sort_by(|one, other| one.at[0].total_cmp(&other.at[0]));
    let until = in_line.iter().position(|other| std::ptr::eq(*other, word));
    let names = in_line[..until.unwrap_or(in_line.len())].iter().take(WORDS);
    let names: Vec<&str> = names.map(|word| word.text.as_str()).collect();
    names.join(" ")
}

/// A step through both texts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The same word in both.
    Both,
    /// A word of the first only.
    Shown(usize),
    /// A word of the second only.
    Follows(usize),
}

fn steps(left: &[Word], right: &[Word]) -> Vec<Step> {
    let (rows, columns) = (left.len(), right.len());
    let mut steps = Vec::with_capacity(rows + columns);
    if (rows + 1).saturating_mul(columns + 1) > CELLS_MAX {
        for at in 0..rows.max(columns) {
            match (left.get(at), right.get(at)) {
                (Some(one), Some(other)) if one.text == other.text => steps.push(Step::Both),
                (one, other) => {
                    steps.extend(one.map(|_| Step::Shown(at)));
                    steps.extend(other.map(|_| Step::Follows(at)));
                }
            }
        }
        return steps;
    }
    // The length of the longest common subsequence of what follows.
    let width = columns + 1;
    let mut common = vec![0_u32; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row * width + column] = match left[row].text == right[column].text {
                true => common[(row + 1) * width + column + 1] + 1,
                false => common[(row + 1) * width + column].max(common[row * width + column + 1]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < rows || column < columns {
        if row < rows && column < columns && left[row].text == right[column].text {
            steps.push(Step::Both);
            (row, column) = (row + 1, column + 1);
        } else if column >= columns
            || row < rows && common[(row + 1) * width + column] >= common[row * width + column + 1]
        {
            steps.push(Step::Shown(row));
            row += 1;
        } else {
            steps.push(Step::Follows(column));
            column += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: usize, lines: &[&str]) -> Vec<Word> {
        let mut words = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let y = 700.0 - crate::numbers::count(at) * 12.0;
            for (x, text) in line.split(' ').enumerate() {
                words.push(Word {
                    page: number,
                    at: [50.0 + crate::numbers::count(x) * 20.0, y],
                    text: text.to_owned(),
                });
            }
        }
        words
    }

    fn said(shown: &[&str], follows: &[&str]) -> Vec<(String, String, String)> {
        let all = words(&page(1, shown), &page(1, follows), 200);
        let said = all.into_iter().map(|one| match one {
            Difference::Word { beside, shown, follows, .. } => (beside, shown, follows),
            other => panic!("{other:?}"),
        });
        said.collect()
    }

    fn three(one: &str, two: &str, three: &str) -> (String, String, String) {
        (one.to_owned(), two.to_owned(), three.to_owned())
    }

    #[test]
    fn a_changed_digit_is_named_with_its_row() {
        let found = said(
            &["Server IOPS ms", "HAIL 3,000 11.5", "SNOW 2,916 12.0"],
            &["Server IOPS ms", "HAIL 2,000 11.5", "SNOW 2,916 12.0"],
        );
        assert_eq!(found, [three("HAIL", "3,000", "2,000")]);
    }

    #[test]
    fn a_missing_word_moves_no_others() {
        let found = said(&["a 1 2", "b 4"], &["a 1 2 3", "b 4"]);
        assert_eq!(found, [three("a 1 2", "", "3")]);
        let found = said(&["a 1 9 2", "b 4"], &["a 1 2", "b 4"]);
        assert_eq!(found, [three("a 1", "9", "")]);
        assert_eq!(said(&["a 1"], &["a 1"]), []);
    }

    #[test]
    fn the_search_ends() {
        let many = vec!["1 2 3 4 5 6 7 8 9"; 1_000];
        let other = vec!["a b c d e f g h i"; 1_000];
        let found = words(&page(1, &many), &page(1, &other), 200);
        assert!((200..=202).contains(&found.len()), "{}", found.len());
    }
}
