//! A PDF of lines of text in one font, as small as the format allows.

/// A line on a page: size of the letters in points, and ASCII text.
pub(crate) type Line<'a> = (u32, &'a str);

/// The encryption of a PDF whose password for reading is `harbour`: version 1 of the standard handler, for [`ID`].
const ENCRYPTION: &str = "<< /Filter /Standard /V 1 /R 2 /P -4 \
    /O <073e215b7d8643e6c9515f647d54eaf0f3c338f4ca26650da468adb0be8f30a6> \
    /U <5b1fca461c523128e622f00f4c1b4a3f27b6100a13812f0b8b55d5bd1ec201ce> >>";
/// Forms within each other, and how often each shows the next one.
const FORMS: usize = 4;
const FORM_REPETITIONS: usize = 100;
const ID: &str = "<000102030405060708090a0b0c0d0e0f>";

/// Returns a PDF. Each page has its lines from the top.
pub(crate) fn pdf(pages: &[&[Line<'_>]]) -> Vec<u8> {
    file_of(&objects_of(pages), "")
}

/// Returns a PDF that needs a password to be opened. Its streams are not encrypted, because nothing may read them.
pub(crate) fn pdf_with_password(pages: &[&[Line<'_>]]) -> Vec<u8> {
    let mut objects = objects_of(pages);
    objects.push(ENCRYPTION.to_owned());
    file_of(&objects, &format!(" /Encrypt {} 0 R /ID [{ID} {ID}]", objects.len()))
}

/// Returns a PDF in which the page above all pages is above itself. Its pages have no size of their own, which a reader
/// looks for in the pages above.
pub(crate) fn pdf_with_page_loop(pages: &[&[Line<'_>]]) -> Vec<u8> {
    let mut objects = objects_of(pages);
    objects[1] = objects[1].replace("/Type /Pages", "/Type /Pages /Parent 2 0 R");
    for object in &mut objects {
        *object = object.replace("/MediaBox [0 0 595 842] ", "");
    }
    file_of(&objects, "")
}

/// Returns a PDF that is small and takes minutes to read: its page shows a form a hundred times, the form shows another one
/// a hundred times, and so on.
pub(crate) fn pdf_of_nested_forms() -> Vec<u8> {
    let mut objects = objects_of(&[&[]]);
    let content = "/F Do\n".repeat(FORM_REPETITIONS);
    objects[3] = objects[3].replace("/Font << /F1 3 0 R >>", "/XObject << /F 6 0 R >>");
    objects[4] = format!("<< /Length {} >>\nstream\n{content}endstream", content.len());
    for form in 0..FORMS {
        let next = 7 + form;
        objects.push(format!(
            "<< /Type /XObject /Subtype /Form /Resources << /XObject << /F {next} 0 R >> >> /Length {} >>\nstream\n\
             {content}endstream",
            content.len()
        ));
    }
    let last = "BT ET\n";
    let length = last.len();
    objects.push(format!("<< /Type /XObject /Subtype /Form /Length {length} >>\nstream\n{last}endstream"));
    file_of(&objects, "")
}

/// Returns the objects of a document: the catalog, the pages, a font, and two objects per page.
fn objects_of(pages: &[&[Line<'_>]]) -> Vec<String> {
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
        let mut y: i64 = 780;
        for (size, line) in *lines {
            text.push_str(&format!("BT /F1 {size} Tf 72 {y} Td ({line}) Tj ET\n"));
            y -= i64::from(*size) * 7 / 5;
        }
        objects.push(format!("<< /Length {} >>\nstream\n{text}endstream", text.len()));
    }
    objects
}

/// Returns a file of objects, with further entries of its trailer.
fn file_of(objects: &[String], entries: &str) -> Vec<u8> {
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
    let size = objects.len() + 1;
    file.push_str(&format!("trailer\n<< /Size {size} /Root 1 0 R{entries} >>\nstartxref\n{table}\n%%EOF\n"));
    file.into_bytes()
}
