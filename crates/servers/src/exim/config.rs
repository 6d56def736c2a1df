//! The configuration of Exim 4.
//!
//! Mail for our accounts goes to the store, everything else is refused. Deliveries that were put off
//! are tried again after two seconds. Source: the Exim specification, chapters 14, 20, 30 and 32.

use super::{DELIVERIES_AT_ONCE, Setup};
use crate::accounts::DOMAIN;
use crate::programs::{Installed, LIBRARIES};

pub(super) fn text(setup: &Setup, installed: &Installed) -> String {
    let home = setup.home.display();
    let Setup { smtp, smtps, lmtp, .. } = setup;
    let certificate = setup.own_certificate();
    format!(
        "\
spool_directory = {home}/spool
log_file_path = {home}/log/%slog
pid_file_path = {home}/exim.pid
exim_path = {}
local_interfaces = 127.0.0.1
daemon_smtp_ports = {smtp} : {smtps}
tls_on_connect_ports = {smtps}
tls_advertise_hosts = *
tls_certificate = {}
tls_privatekey = {}
primary_hostname = {DOMAIN}
never_users =
deliver_drop_privilege = true
queue_run_max = 5
smtp_accept_max = {DELIVERIES_AT_ONCE}
smtp_accept_queue_per_connection = 0
remote_max_parallel = 4
host_lookup =
rfc1413_query_timeout = 0s
acl_smtp_rcpt = recipient
acl_smtp_data = accept
message_size_limit = 50M
keep_environment = {LIBRARIES}
begin acl
recipient:
  accept
    domains = {DOMAIN}
    local_parts = lsearch;{home}/addresses
  deny
    message = no mail leaves this host
begin routers
accounts:
  driver = manualroute
  domains = {DOMAIN}
  transport = store
  route_list = * 127.0.0.1 byname
  self = send
nowhere:
  driver = redirect
  allow_fail
  data = :fail: no mail leaves this host
begin transports
store:
  driver = smtp
  protocol = lmtp
  port = {lmtp}
  allow_localhost
  hosts_avoid_tls = *
begin retry
*  *  F,1h,2s
",
        installed.program.display(),
        certificate.certificate.display(),
        certificate.key.display()
    )
}
