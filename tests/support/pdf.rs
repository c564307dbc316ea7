//! A PDF of lines of text in one font, as small as the format allows.

/// A line on a page: size of the letters in points, and ASCII text.
pub(crate) type Line<'a> = (u32, &'a str);

/// Returns a PDF. Each page has its lines from the top.
pub(crate) fn pdf(pages: &[&[Line<'_>]]) -> Vec<u8> {
    let first_page = 4;
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", first_page + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    for (page, lines) in pages.iter().enumerate() {
        let content = first_page + 2 * page + 1;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> \
             /Contents {content} 0 R >>"
        ));
        let mut text = String::new();
        let mut y = 780;
        for (size, line) in *lines {
            text.push_str(&format!("BT /F1 {size} Tf 72 {y} Td ({line}) Tj ET\n"));
            y -= size * 7 / 5;
        }
        objects.push(format!("<< /Length {} >>\nstream\n{text}endstream", text.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    let table = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for offset in offsets {
        file.push_str(&format!("{offset:010} 00000 n \n"));
    }
    file.push_str(&format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1));
    file.into_bytes()
}
