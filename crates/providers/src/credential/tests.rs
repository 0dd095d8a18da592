//! Each exchange against what the clouds document: the request as it leaves, the credential as it comes.
