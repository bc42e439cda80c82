fn main() {
    hermes_discover::write_tool_table();
}
