ReaderModels {
    people: ReaderModel { intercept: -0.2081, before: 0.4153, reader: 0.4227 },
    assistant: ReaderModel { intercept: 0.2378, before: 0.5891, reader: 0.4648 },
    assistant_in_parts: ReaderModel { intercept: -1.1418, before: 0.6284, reader: 0.2614 },
    document: ReaderModel { intercept: -0.4071, before: 0.6323, reader: 0.1947 },
}
