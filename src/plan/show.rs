pub fn show(_: &super::Plan) -> String { String::new() }
