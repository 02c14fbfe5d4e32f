//! The shared files of the AWS tools, `~/.aws/credentials` and `~/.aws/config`, which the crate
//! `object_store` does not read: keys, session token and region of a profile.
//!
//! A profile that names a role, a program or a single sign-on has no keys here: their credentials
//! belong in the environment, as `aws configure export-credentials --format env` writes them.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

use crate::error::Result;
use crate::exec::files;

/// Adds the values of the shared files to those of the environment, which take precedence.
pub(super) fn complete(builder: AmazonS3Builder) -> Result<AmazonS3Builder> {
    let file = |variable: &str, name: &str| -> Option<PathBuf> {
        let named = env::var_os(variable).map(PathBuf::from);
        named.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".aws").join(name)))
    };
    let text = |path: Option<PathBuf>| -> Result<String> {
        let bytes = path.map(|path| files::read_if_there(&path)).transpose()?.flatten();
        Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    };
    let credentials = text(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"))?;
    let config = text(file("AWS_CONFIG_FILE", "config"))?;
    let profile = env::var("AWS_PROFILE").or_else(|_| env::var("AWS_DEFAULT_PROFILE"));
    let profile = profile.unwrap_or_else(|_| "default".to_owned());
    Ok(completed(builder, &profile, &credentials, &config))
}

/// The builder with what a profile of these texts has and the builder lacks.
fn completed(
    mut builder: AmazonS3Builder,
    profile: &str,
    credentials: &str,
    config: &str,
) -> AmazonS3Builder {
    use AmazonS3ConfigKey as Key;
    let lacks = |builder: &AmazonS3Builder, key: Key| builder.get_config_value(&key).is_none();
    let of_config = section(config, &[&format!("profile {profile}"), profile]);
    if lacks(&builder, Key::Region)
        && let Some(region) = of_config.get("region")
    {
        builder = builder.with_region(*region);
    }
    let others =
        [Key::AccessKeyId, Key::WebIdentityTokenFile, Key::ContainerCredentialsRelativeUri];
    if !others.into_iter().all(|key| lacks(&builder, key)) {
        return builder;
    }
    let mut keys = of_config;
    keys.extend(section(credentials, &[profile]));
    let (id, secret) = (keys.get("aws_access_key_id"), keys.get("aws_secret_access_key"));
    let (Some(id), Some(secret)) = (id, secret) else { return builder };
    builder = builder.with_access_key_id(*id).with_secret_access_key(*secret);
    match keys.get("aws_session_token") {
        Some(token) => builder.with_token(*token),
        None => builder,
    }
}

/// The keys and values of the sections of these names.
fn section<'a>(text: &'a str, names: &[&str]) -> BTreeMap<&'a str, &'a str> {
    let (mut found, mut inside) = (BTreeMap::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            inside = names.contains(&name.trim());
        } else if let Some((key, value)) = line.split_once('=')
            && inside
            && !line.starts_with(['#', ';'])
        {
            found.insert(key.trim(), value.trim());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "
# of the team
[default]
aws_access_key_id = AKIA1
aws_secret_access_key=one=1

[audit]
aws_access_key_id = AKIA2
aws_secret_access_key = two
aws_session_token = token
";

    const CONFIG: &str = "[default]\nregion = eu-west-1\n[profile audit]\nregion = eu-central-1\n";

    fn values(builder: &AmazonS3Builder) -> [Option<String>; 4] {
        use AmazonS3ConfigKey as Key;
        [Key::AccessKeyId, Key::SecretAccessKey, Key::Token, Key::Region]
            .map(|key| builder.get_config_value(&key))
    }

    #[test]
    fn a_profile_gives_keys_and_region() {
        let values_of = |profile: &str| {
            values(&completed(AmazonS3Builder::new(), profile, CREDENTIALS, CONFIG))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(values_of("default"), [some("AKIA1"), some("one=1"), None, some("eu-west-1")]);
        assert_eq!(
            values_of("audit"),
            [some("AKIA2"), some("two"), some("token"), some("eu-central-1")]
        );
        assert_eq!(values_of("other"), [None, None, None, None]);
        let of_config = completed(AmazonS3Builder::new(), "default", "", CREDENTIALS);
        assert_eq!(values(&of_config)[0], some("AKIA1"), "keys may be in either file");
    }

    #[test]
    fn the_environment_decides() {
        let set = AmazonS3Builder::new()
            .with_access_key_id("ENV")
            .with_secret_access_key("env")
            .with_region("us-west-2");
        let [id, secret, token, region] = values(&completed(set, "audit", CREDENTIALS, CONFIG));
        assert_eq!([id, secret, region], ["ENV", "env", "us-west-2"].map(|s| Some(s.to_owned())));
        assert_eq!(token, None, "a token belongs to its own keys");
        let identity =
            AmazonS3Builder::new().with_config(AmazonS3ConfigKey::WebIdentityTokenFile, "/t");
        assert_eq!(values(&completed(identity, "audit", CREDENTIALS, CONFIG))[0], None);
    }
}
