"""The command `lockctl`: the lock, as etcdctl shows keys, and commands that run only while they hold one."""
