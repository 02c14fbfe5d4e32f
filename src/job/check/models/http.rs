//! Checks models that are HTTP endpoints.

use crate::job::messages as m;
use crate::model::kind::http::HttpBlock;
use crate::param::Name;

use crate::job::check::JobChecker;

impl JobChecker<'_> {
    /// One block `http`.
    pub(super) fn http(&mut self, at: &str, name: &Name, http: &HttpBlock) {
        let host = ["http://", "https://"].into_iter().find_map(|head| http.url.strip_prefix(head));
        let here = format!("{at}.url");
        if host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
            self.say(&here, m::http_address(http.url.escape_debug()));
        } else if host.is_some_and(|h| h.split('/').next().is_some_and(|host| host.contains('@'))) {
            self.say(&here, m::http_credentials());
        } else {
            self.no_placeholder(here, &http.url);
        }
        self.no_placeholder(format!("{at}.version"), http.version.as_str());
        for (key, value, least, most) in [
            ("batch", http.batch, 1, 65_536),
            ("parallel", http.parallel, 1, 256),
            ("retries", http.retries, 0, 100),
        ] {
            if !(least..=most).contains(&value) {
                self.say(format!("{at}.{key}"), m::http_range(value, least, most));
            }
        }
        let secrets: Vec<String> = http.secret_env.iter().cloned().collect();
        self.surroundings(at, &[], &[], &secrets);
        self.inputs(at, name, &http.omit);
        self.columns_in_order(at, &http.columns, &http.omit);
    }
}
