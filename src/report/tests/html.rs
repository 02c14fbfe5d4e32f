//! The page of a sample folder, and what is looked for on it.

use super::sample::{FolderSample, glossary};
use super::*;

/// The annex of a folder.
pub(super) fn annex(folder: &Path) -> String {
    render(folder, None, &glossary).unwrap().annex.unwrap()
}

/// The annex of a folder with this manifest. Thin spaces are plain ones in the result.
pub(super) fn annex_with(folder: &Path, manifest: &Manifest) -> String {
    fs::write(folder.join("manifest.json"), serde_json::to_string(manifest).unwrap()).unwrap();
    let html = annex(folder);
    well_formed(&html);
    html.replace('\u{202f}', " ")
}

/// The annex of a sample; it must hold what every page holds. Thin spaces are plain ones in the
/// result.
pub(super) fn page(name: &str, sample: &FolderSample) -> String {
    page_within(1_000_000, name, sample)
}

/// The same of at most so many bytes.
pub(super) fn page_within(most: usize, name: &str, sample: &FolderSample) -> String {
    let folder = sample.folder();
    let html = annex(folder.path());
    assert_eq!(html, annex(folder.path()), "same folder, same bytes");
    if let Some(pages) = std::env::var_os("CFAUDIT_PAGES") {
        fs::write(Path::new(&pages).join(format!("{name}.html")), &html).unwrap();
    }
    well_formed(&html);
    assert!(!html.contains("NaN") && !html.contains("not finite"), "{name}");
    assert!(html.len() < most, "{name}: {} bytes", html.len());
    html.replace('\u{202f}', " ")
}

/// Tags close in order, ids are unique, links lead somewhere, headings go down step by step,
/// nothing runs and nothing is fetched.
pub(super) fn well_formed(html: &str) {
    check_tags(html, "report.html");
    assert_eq!(html.matches("<table").count(), html.matches("<caption").count());
    assert!(html.contains(r##"class="skip" href="#main""##));
}

/// The same of any page, which may lead to one other file; gives its anchors and the addresses in
/// the other file.
pub(super) fn check_tags<'h>(html: &'h str, other: &str) -> (BTreeSet<&'h str>, Vec<&'h str>) {
    let mut outside = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let (mut ids, mut links, mut labels, mut last_heading) =
        (BTreeSet::new(), Vec::new(), Vec::new(), 0);
    for piece in html.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closing tags match");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        assert!(!["script", "img", "link", "iframe", "object"].contains(&name), "{tag}");
        if let Some(level) = name.strip_prefix('h').and_then(|l| l.parse::<u8>().ok()) {
            assert!(level <= last_heading + 1, "heading {level} after {last_heading}");
            last_heading = level;
        }
        for attribute in tag.split('"').collect::<Vec<_>>().chunks(2) {
            let [key, value] = attribute else { continue };
            match key.trim_start_matches(name).trim().trim_end_matches('=') {
                "id" => assert!(
                    !value.is_empty() && ids.insert(*value),
                    "id `{value}` is empty or stands twice"
                ),
                "href" => match value.strip_prefix(other) {
                    Some(address) => outside.push(address),
                    None if value.starts_with("tables&#x2f;") => {
                        assert!(value.ends_with(".parquet"))
                    }
                    None => links.push(
                        value.strip_prefix('#').unwrap_or_else(|| panic!("`{value}` leaves us")),
                    ),
                },
                "aria-labelledby" => labels.extend(value.split(' ')),
                key => assert!(!key.starts_with("on") && key != "src" && key != "style", "{key}"),
            }
        }
        if !tag.ends_with('/') && !["meta", "br", "wbr", "col"].contains(&name) {
            open.push(name);
        }
        assert!(name != "table" || piece.starts_with("table"), "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
    for target in links.into_iter().chain(labels) {
        assert!(ids.contains(target), "nothing has the id {target}");
    }
    assert_eq!(html.matches("<h1>").count(), 1);
    for piece in html.split("<svg").skip(1) {
        let tag = piece.split_once('>').map_or(piece, |(tag, _)| tag);
        assert!(
            tag.contains(r#"role="img""#) || tag.contains(r#"aria-hidden="true""#),
            "a drawing is told or hidden: {tag}"
        );
    }
    for text in ["<main", "<nav", "<header", "<footer", r#"lang="en""#, r##"class="skip" href="#"##]
    {
        assert!(html.contains(text), "{text}");
    }
    (ids, outside)
}

/// The words of a piece of the page, without tags.
pub(super) fn words(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        let (tag, words) = piece.split_once('>').unwrap_or(("", piece));
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        if !["bdi", "code", "a", "b", "span", "wbr"].contains(&name) {
            text.push(' ');
        }
        text.push_str(words);
    }
    text.replace("&gt;", ">")
        .replace("&#x2f;", "/")
        .replace("&#x27;", "'")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

pub(super) fn section(html: &str, id: &str) -> String {
    let start =
        html.find(&format!(r#"<section id="{id}""#)).unwrap_or_else(|| panic!("no section {id}"));
    let end = html[start..].find("</section>").expect("the section ends");
    words(&html[start..start + end])
}
