//! Checks models that are HTTP endpoints.

use crate::model::kind::http::HttpBlock;
use crate::param::Name;

use crate::job::check::JobChecker;

impl JobChecker<'_> {
    /// One block `http`.
    pub(super) fn http(&mut self, at: &str, name: &Name, http: &HttpBlock) {
        let host = ["http://", "https://"].into_iter().find_map(|head| http.url.strip_prefix(head));
        let here = format!("{at}.url");
        if host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
            let what = format!("`{}` is no address of an endpoint", http.url.escape_debug());
            let hint = "write `http://` or `https://`, the host and the path";
            self.push_problem("bad-value", &here, what, hint);
        } else if host.is_some_and(|h| h.split('/').next().is_some_and(|host| host.contains('@'))) {
            let what = "the address holds a user or a password, which do not belong into a job";
            let hint = "put the token into a variable, and name that under `secret_env`";
            self.push_problem("bad-value", &here, what, hint);
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
                let what = format!("`{value}` is not from {least} to {most}");
                let hint = format!("write a number from {least} to {most}");
                self.push_problem("bad-value", format!("{at}.{key}"), what, hint);
            }
        }
        let secrets: Vec<String> = http.secret_env.iter().cloned().collect();
        self.surroundings(at, &[], &[], &secrets);
        self.inputs(at, name, &http.omit);
        self.columns_in_order(at, &http.columns, &http.omit);
    }
}
