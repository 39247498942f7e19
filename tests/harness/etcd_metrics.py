"""The metrics of etcd's own that queries use: etcd names them, so tests hold this list to a real one."""

from __future__ import annotations

from tests.harness.golden import Metric

FSYNC = tuple(0.001 * 2**step for step in range(14))
"""Buckets of the disk's histograms, in seconds."""

ROUND_TRIP = tuple(0.0001 * 2**step for step in range(16))

ETCD = {
    "etcd_server_has_leader": Metric("gauge", ()),
    "etcd_server_is_leader": Metric("gauge", ()),
    "etcd_server_leader_changes_seen_total": Metric("counter", ()),
    "etcd_server_proposals_pending": Metric("gauge", ()),
    "etcd_server_proposals_failed_total": Metric("counter", ()),
    "etcd_server_proposals_committed_total": Metric("gauge", ()),
    "etcd_server_slow_apply_total": Metric("counter", ()),
    "etcd_server_quota_backend_bytes": Metric("gauge", ()),
    "etcd_mvcc_db_total_size_in_bytes": Metric("gauge", ()),
    "etcd_mvcc_db_total_size_in_use_in_bytes": Metric("gauge", ()),
    "etcd_disk_wal_fsync_duration_seconds": Metric("histogram", (), FSYNC),
    "etcd_disk_backend_commit_duration_seconds": Metric("histogram", (), FSYNC),
    "etcd_network_peer_round_trip_time_seconds": Metric("histogram", ("To",), ROUND_TRIP),
}
