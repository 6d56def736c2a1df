//! The configuration of Postfix.
//!
//! Mail for our accounts goes to the store, everything else meets `error:`. Mail that was put off is
//! tried again after 4 to 8 seconds: with the usual five minutes a store that was killed for a
//! moment gets its mail an hour later. Source: postconf(5), master(5).

use std::path::Path;

use super::{DELIVERIES_AT_ONCE, OWNER, Setup};
use crate::accounts::DOMAIN;
use crate::programs::Installed;

/// Where distributions put the daemons of Postfix.
const DAEMONS: [&str; 4] =
    ["/usr/lib/postfix/sbin", "/usr/libexec/postfix", "/usr/lib/postfix/bin", "/usr/lib/postfix"];

pub(super) fn main(setup: &Setup, installed: &Installed) -> String {
    let home = setup.home.display();
    let commands = installed.program.parent().unwrap_or(Path::new("/usr/sbin")).display();
    let is_there = |folder: &&&str| Path::new(folder).join("master").exists();
    let daemons = DAEMONS.iter().find(is_there).unwrap_or(&DAEMONS[0]);
    format!(
        "\
compatibility_level = 3.6
queue_directory = {home}/queue
data_directory = {home}/data
command_directory = {commands}
daemon_directory = {daemons}
mail_owner = {OWNER}
setgid_group = postdrop
multi_instance_name = postfix-brunt
multi_instance_enable = yes
maillog_file = {home}/log/postfix.log
maillog_file_prefixes = {home}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = {DOMAIN}
mydestination =
mynetworks = 127.0.0.0/8
virtual_mailbox_domains = {DOMAIN}
virtual_mailbox_maps = texthash:{home}/etc/addresses
virtual_transport = lmtp:inet:127.0.0.1:{}
local_recipient_maps =
alias_maps =
alias_database =
default_transport = error:no mail leaves this host
relay_transport = error:no mail leaves this host
local_transport = error:no local mail
disable_dns_lookups = yes
smtp_dns_support_level = disabled
smtpd_peername_lookup = no
smtpd_client_connection_rate_limit = 0
smtpd_client_connection_count_limit = 0
smtpd_client_message_rate_limit = 0
smtpd_tls_security_level = may
smtpd_tls_cert_file = {}
smtpd_tls_key_file = {}
smtpd_tls_loglevel = 0
smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination
message_size_limit = 52428800
in_flow_delay = 0
default_process_limit = 200
lmtp_destination_concurrency_limit = {DELIVERIES_AT_ONCE}
minimal_backoff_time = 4s
maximal_backoff_time = 8s
queue_run_delay = 2s
append_dot_mydomain = no
biff = no
",
        setup.lmtp,
        setup.certificate.certificate.display(),
        setup.certificate.key.display()
    )
}

pub(super) fn master(setup: &Setup) -> String {
    format!(
        "\
127.0.0.1:{} inet n - n - - smtpd
127.0.0.1:{} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
pickup     unix       n - n 60    1 pickup
cleanup    unix       n - n -     0 cleanup
qmgr       unix       n - n 300   1 qmgr
tlsmgr     unix       - - n 1000? 1 tlsmgr
rewrite    unix       - - n -     - trivial-rewrite
bounce     unix       - - n -     0 bounce
defer      unix       - - n -     0 bounce
trace      unix       - - n -     0 bounce
verify     unix       - - n -     1 verify
flush      unix       n - n 1000? 0 flush
proxymap   unix       - - n -     - proxymap
proxywrite unix       - - n -     1 proxymap
smtp       unix       - - n -     - smtp
relay      unix       - - n -     - smtp
showq      unix       n - n -     - showq
error      unix       - - n -     - error
retry      unix       - - n -     - error
discard    unix       - - n -     - discard
lmtp       unix       - - n -     - lmtp
anvil      unix       - - n -     1 anvil
scache     unix       - - n -     1 scache
postlog    unix-dgram n - n -     1 postlogd
",
        setup.smtp, setup.smtps
    )
}
