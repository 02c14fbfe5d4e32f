//! Talks to the stores: lists, inspects, reads and writes objects through the crate `object_store`.
//!
//! One small runtime serves all threads: a thread waits for its own requests, and looks every tenth
//! of a second whether the run is to stop. A request that fails for a reason that may pass is
//! repeated ([`RETRIES`] times, after growing pauses that differ between threads), and so is the
//! rest of an answer that was cut.
//!
//! Credentials: for S3 the variables `AWS_*`, a web identity or a container's address among them,
//! else the shared files ([`super::profile`]), else the machine; for Google `GOOGLE_*`, the file of
//! `gcloud auth application-default login`, or the machine; for Azure `AZURE_*`, or the machine.

use std::collections::HashMap;
use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as ObjectPath;
use object_store::{
    BackoffConfig, GetOptions, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, RetryConfig,
};
use tokio::runtime::Runtime;

use super::failure::{RETRIES, failed, is_absent, is_cut, not_written, replaced, unset};
use super::{ObjectAddress, ObjectFile, ObjectVersion, PART, profile, session};
use crate::error::{Error, Result};

/// After this time no further attempt is made.
const PATIENCE: Duration = Duration::from_secs(120);

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How often a waiting thread checks whether the run is to stop.
const TICK: Duration = Duration::from_millis(100);

/// Requests of one thread at the same time.
const AT_ONCE: usize = 16;

/// Bytes of one request that reads.
const REQUEST: u64 = PART as u64;

/// Parts of an object that are written at the same time.
const PARTS_AT_ONCE: usize = 4;

/// A store by its scheme and bucket.
type StoreName = (&'static str, String);

static STORES: LazyLock<Mutex<HashMap<StoreName, Arc<dyn ObjectStore>>>> =
    LazyLock::new(Mutex::default);

static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("cfaudit-store").enable_all().build()
});

/// Waits for work of the runtime, unless the run is to stop.
fn wait<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = RUNTIME.as_ref().map_err(|cause| {
        Error::operator("start", Path::new("threads"), cause, "use fewer with --threads")
    })?;
    let cancel = session(|session| session.cancel.clone());
    runtime.block_on(async {
        let mut work = pin!(work);
        loop {
            match tokio::time::timeout(TICK, work.as_mut()).await {
                Ok(done) => return done,
                Err(_) => cancel.check()?,
            }
        }
    })
}

/// The store that holds an object.
fn store_of(address: &ObjectAddress) -> Result<Arc<dyn ObjectStore>> {
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = (address.scheme, address.bucket.clone());
    if let Some(store) = stores.get(&name) {
        return Ok(Arc::clone(store));
    }
    let backoff = BackoffConfig { init_backoff: FIRST_WAIT, max_backoff: LONGEST_WAIT, base: 2.0 };
    let retry = RetryConfig { backoff, max_retries: RETRIES, retry_timeout: PATIENCE };
    let built: object_store::Result<Arc<dyn ObjectStore>> = match address.scheme {
        "s3" => {
            let builder = AmazonS3Builder::from_env().with_bucket_name(&address.bucket);
            let builder = profile::complete(builder)?.with_retry(retry);
            builder.build().map(|store| Arc::new(store) as _)
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(&address.bucket);
            builder.with_retry(retry).build().map(|store| Arc::new(store) as _)
        }
        _ => {
            let builder = MicrosoftAzureBuilder::from_env().with_container_name(&address.bucket);
            builder.with_retry(retry).build().map(|store| Arc::new(store) as _)
        }
    };
    let store = built.map_err(|_| unset(address))?;
    stores.insert(name, Arc::clone(&store));
    Ok(store)
}

/// The key of an object in the form of the crate.
fn key_of(address: &ObjectAddress) -> Result<ObjectPath> {
    ObjectPath::parse(&address.key).map_err(|cause| failed(address, &cause.into()))
}

/// The version that a store reports.
fn version_of(address: &ObjectAddress, meta: &ObjectMeta) -> Result<ObjectVersion> {
    match meta.e_tag.as_deref().map(unquoted).filter(|etag| !etag.is_empty()) {
        Some(etag) => Ok(ObjectVersion { bytes: meta.size, etag: etag.to_owned() }),
        None => {
            let cause = "the store gives it no ETag, so a change of it could not be noticed";
            let hint = "copy the object to a store that has ETags, or to this machine";
            Err(Error::operator("read", address.path(), cause, hint))
        }
    }
}

/// An ETag without quotes: some stores list it without, and answer with them.
fn unquoted(etag: &str) -> &str {
    etag.strip_prefix('"').and_then(|etag| etag.strip_suffix('"')).unwrap_or(etag)
}

/// The ETag as requests name it.
fn quoted(etag: &str) -> String {
    if etag.starts_with("W/") { etag.to_owned() } else { format!("\"{etag}\"") }
}

/// The versions of objects; none where there is no such object.
pub(super) fn heads(addresses: &[ObjectAddress]) -> Result<Vec<Option<ObjectVersion>>> {
    let mut asked = Vec::new();
    for address in addresses {
        // A bucket is not an object.
        let store = if address.key.is_empty() { None } else { Some(store_of(address)?) };
        asked.push((address, store, key_of(address)?));
    }
    let look =
        |(address, store, key): (&ObjectAddress, Option<Arc<dyn ObjectStore>>, ObjectPath)| {
            let address = address.clone();
            async move {
                let Some(store) = store else { return Ok(None) };
                let options = GetOptions { head: true, ..GetOptions::default() };
                match store.get_opts(&key, options).await {
                    Ok(found) => version_of(&address, &found.meta).map(Some),
                    Err(cause) if is_absent(&cause) => Ok(None),
                    Err(cause) => Err(failed(&address, &cause)),
                }
            }
        };
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    wait(stream::iter(asked.into_iter().map(look)).buffered(AT_ONCE).try_collect())
}

/// The objects below a prefix, at any depth; none where there is no such bucket.
pub(super) fn list(prefix: &ObjectAddress) -> Result<Vec<(ObjectAddress, ObjectVersion)>> {
    let (store, key) = (store_of(prefix)?, key_of(prefix)?);
    let below = Some(&key).filter(|_| !prefix.key.is_empty());
    let found: Vec<ObjectMeta> = wait(async {
        let mut wait = FIRST_WAIT;
        for further in (0..RETRIES).rev() {
            match store.list(below).try_collect().await {
                Ok(found) => return Ok(found),
                Err(cause) if is_absent(&cause) => break,
                Err(cause) if further > 0 && is_cut(&cause) => {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                Err(cause) => return Err(failed(prefix, &cause)),
            }
        }
        Ok(Vec::new())
    })?;
    let with_version = |meta: ObjectMeta| {
        let address = prefix.with_key(meta.location.as_ref());
        let version = version_of(&address, &meta)?;
        Ok((address, version))
    };
    found.into_iter().map(with_version).collect()
}

/// Reads ranges of objects, in their order.
pub(super) fn read(files: Vec<(ObjectFile, Vec<Range<u64>>)>) -> Result<Vec<Vec<Bytes>>> {
    let (mut requests, mut shape) = (Vec::new(), Vec::new());
    for (file, ranges) in files {
        let (store, key) = (store_of(&file.address)?, key_of(&file.address)?);
        let mut parts = Vec::new();
        for range in ranges {
            let cuts = cut(range);
            parts.push(cuts.len());
            requests.extend(cuts.into_iter().map(|cut| {
                let (store, key, file) = (Arc::clone(&store), key.clone(), file.clone());
                read_part(store, key, file, cut)
            }));
        }
        shape.push(parts);
    }
    let parts: Vec<Bytes> = wait(stream::iter(requests).buffered(AT_ONCE).try_collect())?;
    let mut parts = parts.into_iter();
    let mut whole = |n: usize| joined(parts.by_ref().take(n).collect());
    Ok(shape.into_iter().map(|at: Vec<usize>| at.into_iter().map(&mut whole).collect()).collect())
}

/// The bytes of an object as it is now, a small one by one request; none where there is none.
pub(super) fn get(address: &ObjectAddress) -> Result<Option<Bytes>> {
    let (store, key) = (store_of(address)?, key_of(address)?);
    let version = wait(async {
        let answer = match store.get_opts(&key, GetOptions::default()).await {
            Ok(answer) => answer,
            Err(cause) if is_absent(&cause) => return Ok(None),
            Err(cause) => return Err(failed(address, &cause)),
        };
        let version = version_of(address, &answer.meta)?;
        if version.bytes > REQUEST {
            return Ok(Some((version, None)));
        }
        let bytes = answer.bytes().await.map_err(|cause| failed(address, &cause))?;
        Ok(Some((version, Some(bytes))))
    })?;
    match version {
        None => Ok(None),
        Some((_, Some(bytes))) => Ok(Some(bytes)),
        Some((version, None)) => {
            let whole: Vec<Range<u64>> = std::iter::once(0..version.bytes).collect();
            let file = ObjectFile { address: address.clone(), version };
            Ok(read(vec![(file, whole)])?.pop().and_then(|mut parts| parts.pop()))
        }
    }
}

/// Writes an object: by one request where it has one part, else in parts that the store puts
/// together at the end.
pub(super) fn put(
    address: &ObjectAddress,
    next: &mut dyn FnMut() -> Result<Option<Bytes>>,
) -> Result<()> {
    let (store, key) = (store_of(address)?, key_of(address)?);
    let fail = |cause: object_store::Error| not_written(address, &cause);
    let first = next()?.unwrap_or_default();
    wait(async {
        if first.len() < PART {
            let put = store.put_opts(&key, first.into(), PutOptions::default());
            return put.await.map(|_| ()).map_err(fail);
        }
        let upload = store.put_multipart_opts(&key, PutMultipartOptions::default());
        let mut upload = upload.await.map_err(fail)?;
        let sent = put_parts(upload.as_mut(), first, next, &fail).await;
        if sent.is_err() {
            // The first error is reported; the store's own rule removes parts of lost uploads.
            let _ = upload.abort().await;
            return sent;
        }
        upload.complete().await.map(|_| ()).map_err(fail)
    })
}

async fn put_parts(
    upload: &mut dyn MultipartUpload,
    first: Bytes,
    next: &mut dyn FnMut() -> Result<Option<Bytes>>,
    fail: &impl Fn(object_store::Error) -> Error,
) -> Result<()> {
    let mut part = Some(first);
    while part.is_some() {
        let mut sent = Vec::new();
        while let Some(bytes) = part.take() {
            sent.push(upload.put_part(bytes.into()));
            if sent.len() < PARTS_AT_ONCE {
                part = next()?;
            }
        }
        try_join_all(sent).await.map_err(fail)?;
        part = next()?;
    }
    Ok(())
}

/// Cuts a range into those of single requests; none for an empty one.
fn cut(range: Range<u64>) -> Vec<Range<u64>> {
    let step = |from: u64| from..range.end.min(from + REQUEST);
    let n = (range.end.saturating_sub(range.start)).div_ceil(REQUEST);
    (0..n).map(|i| step(range.start + i * REQUEST)).collect()
}

/// Bytes that follow each other.
fn joined(mut parts: Vec<Bytes>) -> Bytes {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut whole = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    parts.iter().for_each(|part| whole.extend_from_slice(part));
    whole.freeze()
}

/// Reads one range of the version of an object that this process reads.
async fn read_part(
    store: Arc<dyn ObjectStore>,
    key: ObjectPath,
    file: ObjectFile,
    range: Range<u64>,
) -> Result<Bytes> {
    let ObjectFile { address, version } = &file;
    let options = GetOptions {
        range: Some(range.into()),
        if_match: Some(quoted(&version.etag)),
        ..GetOptions::default()
    };
    let answer = match store.get_opts(&key, options).await {
        Ok(answer) => answer,
        Err(
            object_store::Error::Precondition { .. }
            | object_store::Error::NotModified { .. }
            | object_store::Error::NotFound { .. },
        ) => return Err(replaced(address)),
        Err(cause) => return Err(failed(address, &cause)),
    };
    // Not every store heeds `If-Match`.
    if version_of(address, &answer.meta)? != *version {
        return Err(replaced(address));
    }
    answer.bytes().await.map_err(|cause| failed(address, &cause))
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    #[test]
    fn large_ranges_are_cut_and_joined_again() {
        assert_eq!(cut(5..5), []);
        assert_eq!(cut(5..9), from_ref(&(5..9)));
        assert_eq!(cut(3..REQUEST + 3), from_ref(&(3..REQUEST + 3)));
        assert_eq!(cut(3..REQUEST + 4), [3..REQUEST + 3, REQUEST + 3..REQUEST + 4]);
        let parts = ["ab", "", "c"].map(|part| Bytes::from_static(part.as_bytes()));
        assert_eq!(joined(parts.to_vec()), "abc");
        assert_eq!(joined(Vec::new()), "");
    }

    #[test]
    fn quotes_of_tags_do_not_count() {
        assert_eq!([unquoted("\"0x8D\""), unquoted("0x8D")], ["0x8D", "0x8D"]);
        assert_eq!(quoted(unquoted("\"0x8D\"")), "\"0x8D\"");
        assert_eq!(quoted(unquoted("W/\"x\"")), "W/\"x\"");
    }
}
