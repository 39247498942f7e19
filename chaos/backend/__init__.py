"""What clusters are made of: processes of this host, containers, or a project that is there already."""
