fn main() {
    hermes_discover::write_table();
}
