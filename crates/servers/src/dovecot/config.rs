//! Configurations for Dovecot 2.3 and 2.4, whose languages differ.
//!
//! Both say the same. Limits are raised to where a test of hundreds of users does not meet them,
//! nothing is in a chroot, which would need root, and every process runs as one user.
//! Sources: doc.dovecot.org/2.3 and /2.4, "Settings"; "Upgrading Dovecot CE from 2.3 to 2.4".

use std::fmt::Write;

use super::Setup;
use crate::accounts::DOMAIN;
use crate::programs::Version;

/// What one language calls something that the other one has as well.
struct Words {
    /// How many clients a process serves before it ends, and the number without end.
    requests: &'static str,
    unlimited: &'static str,
}

/// The first version of the newer language.
const TWO_FOUR: Version = Version { major: 2, minor: 4, patch: 0 };

/// The configuration of `setup` for `version`.
pub(super) fn text(setup: &Setup, version: Version) -> String {
    if version < TWO_FOUR {
        let words = Words { requests: "service_count", unlimited: "0" };
        format!("{}{}", two_three(setup), both(setup, &words))
    } else {
        let words = Words { requests: "restart_request_count", unlimited: "unlimited" };
        format!("{}{}", two_four(setup), both(setup, &words))
    }
}

/// A field of a user that leaves mailboxes no room for a byte.
pub(super) fn full(version: Version) -> &'static str {
    match version < TWO_FOUR {
        true => "userdb_quota_rule=*:bytes=1",
        false => "userdb_quota_storage_size=1",
    }
}

fn two_three(setup: &Setup) -> String {
    let home = setup.home.display();
    let protocols = if setup.ports.submission.is_some() { " submission" } else { "" };
    let (user, group) = (&setup.user.name, &setup.user.group);
    let fields = format!("uid={user} gid={group} home={home}/mail/%n");
    // What is cached of a user would be the limit of an hour ago.
    let users = match setup.has_limits {
        false => {
            format!("auth_cache_size = 10M\nuserdb {{\n  driver = static\n  args = {fields}\n}}\n")
        }
        true => format!(
            "\
userdb {{
  driver = passwd-file
  args = username_format=%n {}
  default_fields = {fields}
}}
mail_plugins = quota
plugin {{
  quota = count:User quota
  quota_vsizes = yes
  quota_grace = 0
}}
",
            setup.limits().display()
        ),
    };
    format!(
        "\
protocols = imap lmtp{protocols}
ssl_cert = <{home}/cert.pem
ssl_key = <{home}/key.pem
disable_plaintext_auth = no
passdb {{
  driver = passwd-file
  args = username_format=%n {home}/passwd
}}
{users}mail_location = {}:~/{}
",
        setup.format.name(),
        setup.format.folder()
    )
}

fn two_four(setup: &Setup) -> String {
    let home = setup.home.display();
    let submission = if setup.ports.submission.is_some() { "yes" } else { "no" };
    let (user, group) = (&setup.user.name, &setup.user.group);
    let (driver, file, quota) = match setup.has_limits {
        false => ("static", String::new(), ""),
        true => (
            "passwd-file",
            format!(
                "  auth_username_format = %{{user | username}}\n  passwd_file_path = {}\n",
                setup.limits().display()
            ),
            "\
mail_plugins {
  quota = yes
}
quota_storage_grace = 0
quota \"User quota\" {
}
",
        ),
    };
    format!(
        "\
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
protocols {{
  imap = yes
  lmtp = yes
  submission = {submission}
}}
ssl_server_cert_file = {home}/cert.pem
ssl_server_key_file = {home}/key.pem
auth_allow_cleartext = yes
passdb passwd-file {{
  auth_username_format = %{{user | username}}
  passwd_file_path = {home}/passwd
}}
userdb {driver} {{
{file}  fields {{
    uid = {user}
    gid = {group}
    home = {home}/mail/%{{user | username}}
  }}
}}
mail_driver = {}
mail_path = ~/{}
mail_inbox_path =
{quota}",
        setup.format.name(),
        setup.format.folder()
    )
}

/// What both languages have in common.
fn both(setup: &Setup, words: &Words) -> String {
    let Words { requests, unlimited } = words;
    let home = setup.home.display();
    let (user, group, ports) = (&setup.user.name, &setup.user.group, &setup.ports);
    let full = if setup.has_limits { "quota_full_tempfail = yes\n" } else { "" };
    let mut text = format!(
        "\
base_dir = {home}/run
state_dir = {home}/state
log_path = {home}/log/dovecot.log
instance_name = brunt
listen = 127.0.0.1
hostname = {DOMAIN}
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
default_client_limit = 4000
default_process_limit = 2000
first_valid_uid = 1
ssl = yes
auth_mechanisms = plain login scram-sha-256
auth_failure_delay = 0
mail_fsync = {}
recipient_delimiter = +
{full}protocol imap {{
  mail_max_userip_connections = 0
}}
protocol lmtp {{
  postmaster_address = postmaster@{DOMAIN}
}}
service anvil {{
  chroot =
  client_limit = 9000
}}
service auth {{
  client_limit = 9000
}}
service stats {{
  chroot =
  client_limit = 9000
}}
service imap-login {{
  chroot =
  {requests} = {unlimited}
  process_min_avail = 2
  inet_listener imap {{
    port = {}
  }}
  inet_listener imaps {{
    port = {}
    ssl = yes
  }}
}}
service imap {{
  process_limit = 3000
  {requests} = 256
  client_limit = 1
}}
service lmtp {{
  process_min_avail = 2
  inet_listener lmtp {{
    port = {}
  }}
}}
",
        setup.fsync.name(),
        ports.imap,
        ports.imaps,
        ports.lmtp
    );
    if let Some((port, relay)) = ports.submission {
        let _ = write!(
            text,
            "\
submission_relay_host = 127.0.0.1
submission_relay_port = {relay}
submission_relay_trusted = yes
service submission-login {{
  chroot =
  {requests} = {unlimited}
  inet_listener submission {{
    port = {port}
  }}
  inet_listener submissions {{
    port = 0
  }}
}}
"
        );
    }
    text
}
