//! The configuration of Cyrus IMAP 3. Source: imapd.conf(5), cyrus.conf(5).
//!
//! Duplicate suppression is off: it swallows what looks like a message that came before, and a test
//! that looks for doubles would see none.

use std::path::Path;

use super::Setup;
use crate::accounts::{ADMINISTRATOR, DOMAIN};

pub(super) fn imapd(setup: &Setup) -> String {
    let home = setup.home.display();
    let (user, group) = (&setup.user.name, &setup.user.group);
    format!(
        "\
configdirectory: {home}/conf
partition-default: {home}/spool
defaultpartition: default
cyrus_user: {user}
cyrus_group: {group}
admins: {ADMINISTRATOR}
servername: {DOMAIN}
virtdomains: off
unixhierarchysep: yes
lmtp_downcase_rcpt: yes
username_tolower: yes
allowplaintext: yes
sasl_mech_list: PLAIN
sasl_pwcheck_method: saslauthd
sasl_saslauthd_path: {home}/sock/mux
tls_server_cert: {home}/cert.pem
tls_server_key: {home}/key.pem
duplicatesuppression: no
lmtpsocket: {home}/sock/lmtp
idlesocket: {home}/sock/idle
notifysocket: {home}/sock/notify
statuscache: yes
conversations: no
sievedir: {home}/conf/sieve
syslog_prefix: brunt
hashimapspool: yes
mboxlist_db: twoskip
proc_path: {home}/conf/proc
mboxname_lockpath: {home}/conf/lock
munge8bit: no
reject8bit: no
maxlogins_per_host: 0
maxlogins_per_user: 0
"
    )
}

pub(super) fn cyrus(setup: &Setup, programs: &Path) -> String {
    let home = setup.home.display();
    let programs = programs.display();
    let Setup { lmtp, imap, imaps, .. } = setup;
    format!(
        "\
START {{
  recover cmd=\"{programs}/ctl_cyrusdb -C {home}/imapd.conf -r\"
}}
SERVICES {{
  imap  cmd=\"{programs}/imapd -C {home}/imapd.conf -U 250\" listen=\"127.0.0.1:{imap}\" proto=\"tcp4\" prefork=2 maxchild=1000
  imaps cmd=\"{programs}/imapd -C {home}/imapd.conf -s -U 250\" listen=\"127.0.0.1:{imaps}\" proto=\"tcp4\" prefork=0 maxchild=1000
  lmtp  cmd=\"{programs}/lmtpd -C {home}/imapd.conf -a\" listen=\"127.0.0.1:{lmtp}\" proto=\"tcp4\" prefork=1 maxchild=50
}}
EVENTS {{
  checkpoint cmd=\"{programs}/ctl_cyrusdb -C {home}/imapd.conf -c\" period=30
}}
"
    )
}
