//! Each exchange against what the clouds document: the request as it leaves, the credential as it comes.

use bytes::Bytes;
use http::Request;
use secrecy::SecretString;

use super::aws::{self, AwsRole, Container, Profile, StsPlace};
use super::azure::{AzureIdentity, AzureProof, AzureSource};
use super::google::{self, GoogleFile, GoogleSource};
use super::ibm::IbmSource;
use super::{
    AwsKeys, Credential, CredentialSource, ExchangeError, Fetched, TokenOrigin, is_rejected, web_token,
};

/// 2026-11-30T12:00:00Z.
const NOW_MS: u64 = 1_796_040_000_000;
const KEY: &str = include_str!("../../tests/fixtures/credentials/test-key.pem");

fn text(request: &Request<Bytes>) -> String {
    let header = |name: &str| {
        let value = request.headers().get(name).map(|value| value.to_str().unwrap());
        value.map(|value| format!("{name}: {value}\n")).unwrap_or_default()
    };
    let names = [
        "content-type",
        "authorization",
        "metadata",
        "metadata-flavor",
        "x-identity-header",
        "x-aws-ec2-metadata-token",
        "x-aws-ec2-metadata-token-ttl-seconds",
    ];
    let headers: String = names.into_iter().map(header).collect();
    let body = String::from_utf8(request.body().to_vec()).unwrap();
    format!("{} {}\n{headers}\n{body}", request.method(), request.uri())
}

fn bearer(fetched: &Fetched) -> &str {
    let Credential::Bearer(value) = &fetched.credential else { panic!("no bearer token") };
    assert!(value.is_sensitive());
    value.to_str().unwrap()
}

fn keys(fetched: &Fetched) -> &AwsKeys {
    let Credential::Aws(keys) = &fetched.credential else { panic!("no keys") };
    keys
}

fn sts() -> StsPlace {
    StsPlace::of_region("eu-west-1")
}

fn role(external_id: Option<&str>) -> AwsRole {
    AwsRole {
        arn: "arn:aws:iam::1:role/r".to_owned(),
        session: "haleway".to_owned(),
        external_id: external_id.map(str::to_owned),
    }
}

#[test]
fn a_role_is_assumed_with_a_signed_form() {
    let own = AwsKeys::new("AKIDEXAMPLE", "secret-canary".into(), None).unwrap();
    let request = aws::assume_role(&sts(), &role(Some("x/1")), &own, NOW_MS).unwrap();
    let authorization = request.headers()["authorization"].to_str().unwrap();
    assert!(
        authorization.starts_with(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261130/eu-west-1/sts/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature="
        ),
        "{authorization}"
    );
    assert_eq!(request.uri(), "https://sts.eu-west-1.amazonaws.com");
    assert_eq!(
        request.body(),
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=haleway&ExternalId=x%2F1"
    );
    assert!(StsPlace::of_region("cn-north-1").endpoint.ends_with(".amazonaws.com.cn"));
}

#[test]
fn a_web_identity_is_exchanged_without_a_signature() {
    let request =
        aws::assume_role_with_web_identity(&sts(), &role(None), &SecretString::from("ey.J")).unwrap();
    assert_eq!(
        text(&request),
        "POST https://sts.eu-west-1.amazonaws.com/\ncontent-type: application/x-www-form-urlencoded\n\nAction=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=haleway&WebIdentityToken=ey.J"
    );
}

#[test]
fn the_token_service_of_aws_answers_in_xml() {
    let xml = "<AssumeRoleResponse xmlns=\"x\"><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>\n<SecretAccessKey>s+/&amp;x</SecretAccessKey><SessionToken>t==</SessionToken><Expiration>2026-11-30T13:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";
    let fetched = aws::sts_answer(200, xml.as_bytes()).unwrap();
    assert_eq!(fetched.expires_at_ms, Some(NOW_MS + 3_600_000));
    assert_eq!(keys(&fetched), &AwsKeys::new("ASIA1", "s+/&x".into(), Some("t==".into())).unwrap());
    let error = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>";
    let said = aws::sts_answer(403, error.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        said,
        "the token service answered HTTP 403: AccessDenied: not authorized to perform: sts:AssumeRole"
    );
    for broken in [&b""[..], b"<html>", b"<AccessKeyId>A</AccessKeyId>", b"\xff"] {
        assert!(aws::sts_answer(200, broken).is_err());
    }
}

#[test]
fn an_instance_is_asked_in_three_steps() {
    let at = "http://169.254.169.254";
    assert_eq!(
        text(&aws::instance_token(at).unwrap()),
        "PUT http://169.254.169.254/latest/api/token\nx-aws-ec2-metadata-token-ttl-seconds: 21600\n\n"
    );
    let session = aws::token_text(200, b"SESSION\n").unwrap();
    assert_eq!(
        text(&aws::instance_role(at, &session).unwrap()),
        "GET http://169.254.169.254/latest/meta-data/iam/security-credentials/\nx-aws-ec2-metadata-token: SESSION\n\n"
    );
    let role = aws::role_name(200, b"my-role\n").unwrap();
    let request = aws::instance_keys(at, &session, &role).unwrap();
    assert!(request.uri().path().ends_with("/security-credentials/my-role"));
    let answer = br#"{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"ASIA1","SecretAccessKey":"s","Token":"t","Expiration":"2026-11-30T18:00:00Z"}"#;
    assert_eq!(aws::keys_answer(200, answer).unwrap().expires_at_ms, Some(NOW_MS + 6 * 3_600_000));
    let failed = aws::keys_answer(
        200,
        br#"{"Code":"AssumeRoleUnauthorizedAccess","AccessKeyId":"","SecretAccessKey":""}"#,
    );
    assert!(failed.unwrap_err().to_string().contains("AssumeRoleUnauthorizedAccess"));
    assert!(aws::role_name(404, b"").is_err() && aws::token_text(200, b"").is_err());
}

#[test]
fn a_container_is_asked_only_where_keys_stay_on_the_host() {
    for near in [
        "https://creds.example/x",
        "http://169.254.170.2/v2/x",
        "http://169.254.170.23/v1/credentials",
        "http://[fd00:ec2::23]/v1",
        "http://127.0.0.5:80/x",
        "http://localhost/x",
    ] {
        assert!(Container::is_near(near), "{near}");
    }
    for far in ["http://example.org/x", "http://169.254.169.254/x", "not a url", "/path"] {
        assert!(!Container::is_near(far), "{far}");
    }
    let service = Container { url: "http://169.254.170.2/v2/x".to_owned(), authorization: None };
    let request = service.request(Some(&SecretString::from("auth"))).unwrap();
    assert_eq!(text(&request), "GET http://169.254.170.2/v2/x\nauthorization: auth\n\n");
}

#[test]
fn profiles_stand_behind_each_other() {
    let config = "[default]\nregion = eu-west-1\n[profile app]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\nexternal_id = e\n[profile web]\nrole_arn = arn:r\nweb_identity_token_file = /t\n[profile host]\nrole_arn = arn:r\ncredential_source = Ec2InstanceMetadata\n[profile loop]\nrole_arn = arn:r\nsource_profile = loop2\n[profile loop2]\nrole_arn = arn:r\nsource_profile = loop\n[profile sso]\nsso_session = s\n[profile self]\nrole_arn = arn:r\nsource_profile = self\naws_access_key_id = AKSELF\naws_secret_access_key = s\n";
    let credentials =
        "# keys\n[base]\naws_access_key_id = AKBASE\naws_secret_access_key = s # mine\naws_session_token=t\n";
    let find = |name| Profile::find(name, config, credentials, "haleway");
    let Some(Profile::Keys(base)) = find("base").unwrap() else { panic!("no keys") };
    assert_eq!(*base, AwsKeys::new("AKBASE", "s".into(), Some("t".into())).unwrap());
    let Some(Profile::Role(role, with)) = find("app").unwrap() else { panic!("no role") };
    assert_eq!((role.session.as_str(), role.external_id.as_deref()), ("haleway", Some("e")));
    assert!(matches!(*with, Profile::Keys(_)));
    assert!(matches!(find("web").unwrap(), Some(Profile::WebIdentity(_))));
    assert!(
        matches!(find("host").unwrap(), Some(Profile::Role(_, with)) if matches!(*with, Profile::Instance))
    );
    assert!(
        matches!(find("self").unwrap(), Some(Profile::Role(_, with)) if matches!(*with, Profile::Keys(_)))
    );
    assert!(find("loop").unwrap_err().to_string().contains("refers to itself"));
    assert!(matches!(find("sso").unwrap_err(), ExchangeError::Unsupported(text) if text.contains("SSO")));
    assert!(find("default").unwrap().is_none() && find("nobody").unwrap().is_none());
}

fn account() -> String {
    serde_json::json!({
        "type": "service_account",
        "project_id": "proj",
        "private_key_id": "kid-1",
        "private_key": KEY,
        "client_email": "svc@proj.iam.gserviceaccount.com",
        "token_uri": "https://oauth2.googleapis.com/token",
    })
    .to_string()
}

#[test]
fn a_service_account_signs_its_statement() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
    let GoogleFile::ServiceAccount(account) = GoogleFile::parse(&account()).unwrap() else { panic!("kind") };
    let request = google::service_account_request(&account, NOW_MS).unwrap();
    let body = String::from_utf8(request.body().to_vec()).unwrap();
    let statement = body
        .strip_prefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=")
        .unwrap();
    let parts: Vec<&str> = statement.split('.').collect();
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    assert_eq!(decode(parts[0]), br#"{"alg":"RS256","typ":"JWT","kid":"kid-1"}"#);
    assert_eq!(
        String::from_utf8(decode(parts[1])).unwrap(),
        r#"{"iss":"svc@proj.iam.gserviceaccount.com","scope":"https://www.googleapis.com/auth/cloud-platform","aud":"https://oauth2.googleapis.com/token","iat":1796040000,"exp":1796043600}"#
    );
    let der = base64::engine::general_purpose::STANDARD
        .decode(KEY.lines().filter(|line| !line.starts_with("-----")).collect::<String>())
        .unwrap();
    let pair = RsaKeyPair::from_pkcs8(&der).unwrap();
    let signed = format!("{}.{}", parts[0], parts[1]);
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref())
        .verify(signed.as_bytes(), &decode(parts[2]))
        .unwrap();
    let again = google::service_account_request(&account, NOW_MS).unwrap();
    assert_eq!(again.body(), request.body(), "the same statement has the same signature");
}

#[test]
fn a_user_a_machine_and_a_federated_identity_ask_in_their_own_way() {
    let user = r#"{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"1//r","quota_project_id":"q"}"#;
    let file = GoogleFile::parse(user).unwrap();
    assert_eq!(file.project(), Some("q"));
    let GoogleFile::User(user) = file else { panic!("kind") };
    assert_eq!(
        text(&google::user_request(&user).unwrap()),
        "POST https://oauth2.googleapis.com/token\ncontent-type: application/x-www-form-urlencoded\n\ngrant_type=refresh_token&client_id=c&client_secret=s&refresh_token=1%2F%2Fr"
    );
    assert_eq!(
        text(&google::machine_request("metadata.google.internal").unwrap()),
        "GET http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token\nmetadata-flavor: Google\n\n"
    );
    let external = r#"{"type":"external_account","audience":"//iam/p","subject_token_type":"urn:jwt","token_url":"https://sts.googleapis.com/v1/token","credential_source":{"file":"/var/token","format":{"type":"json","subject_token_field_name":"id"}},"service_account_impersonation_url":"https://iam/x:generateAccessToken"}"#;
    let GoogleFile::Federated(federated) = GoogleFile::parse(external).unwrap() else { panic!("kind") };
    assert!(
        matches!(&federated.token, TokenOrigin::File { path, member } if path == "/var/token" && member.as_deref() == Some("id"))
    );
    let request = google::federated_request(&federated, &SecretString::from("tok")).unwrap();
    assert!(text(&request).ends_with("audience=%2F%2Fiam%2Fp&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&subject_token_type=urn%3Ajwt&subject_token=tok"));
    let speaks = format!(
        r#"{{"type":"impersonated_service_account","service_account_impersonation_url":"https://iam/x","source_credentials":{}}}"#,
        account()
    );
    let GoogleFile::Impersonated(speaks) = GoogleFile::parse(&speaks).unwrap() else { panic!("kind") };
    let credential = Credential::bearer(&SecretString::from("t")).unwrap();
    let request = google::impersonated_request(&speaks.url, &speaks.delegates, &credential).unwrap();
    assert_eq!(
        text(&request),
        "POST https://iam/x\ncontent-type: application/json\nauthorization: Bearer t\n\n{\"scope\":[\"https://www.googleapis.com/auth/cloud-platform\"],\"delegates\":[],\"lifetime\":\"3600s\"}"
    );
    let fetched =
        google::impersonated_answer(200, br#"{"accessToken":"ya29.x","expireTime":"2026-11-30T13:00:00Z"}"#)
            .unwrap();
    assert_eq!((bearer(&fetched), fetched.expires_at_ms), ("Bearer ya29.x", Some(NOW_MS + 3_600_000)));
}

#[test]
fn what_is_wrong_with_google_credentials_is_said_without_them() {
    for (text, says) in [
        ("canary", "no JSON"),
        (r#"{"private_key":"canary"}"#, "\"type\""),
        (r#"{"type":"service_account","private_key":"canary"}"#, "client_email"),
        (r#"{"type":"gdch_service_account"}"#, "gdch_service_account"),
        (
            r#"{"type":"external_account","audience":"a","subject_token_type":"t","credential_source":{"environment_id":"aws1"}}"#,
            "file or behind a URL",
        ),
    ] {
        let error = GoogleFile::parse(text).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("canary"), "{error}");
    }
    let broken = account().replace("PRIVATE KEY", "CERTIFICATE");
    let GoogleFile::ServiceAccount(account) = GoogleFile::parse(&broken).unwrap() else { panic!("kind") };
    assert!(
        google::service_account_request(&account, NOW_MS).unwrap_err().to_string().contains("private_key")
    );
}

fn entra(proof: AzureProof) -> AzureSource {
    AzureSource {
        scope: super::azure::SCOPE.to_owned(),
        identity: AzureIdentity::Application {
            authority: "https://login.microsoftonline.com/".to_owned(),
            tenant: "t".to_owned(),
            client: "c".to_owned(),
            proof,
        },
    }
}

#[test]
fn entra_takes_a_secret_a_federated_token_or_a_password() {
    let scope = "scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default";
    let head = "POST https://login.microsoftonline.com/t/oauth2/v2.0/token\ncontent-type: application/x-www-form-urlencoded\n\n";
    let secret = entra(AzureProof::Secret("s&x".into())).request(None).unwrap();
    assert_eq!(
        text(&secret),
        format!("{head}client_id=c&{scope}&grant_type=client_credentials&client_secret=s%26x")
    );
    let federated = entra(AzureProof::Federated(TokenOrigin::file("/t")));
    let request = federated.request(Some(&SecretString::from("ey.J"))).unwrap();
    assert_eq!(
        text(&request),
        format!(
            "{head}client_id=c&{scope}&grant_type=client_credentials&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=ey.J"
        )
    );
    assert!(federated.request(None).is_err() && federated.federated().is_some());
    let password =
        entra(AzureProof::Password { user: "u@x".to_owned(), password: "p".into() }).request(None).unwrap();
    assert!(text(&password).ends_with("grant_type=password&username=u%40x&password=p"));
}

#[test]
fn managed_identities_are_asked_for_a_resource() {
    let of =
        |identity| AzureSource { scope: super::azure::SCOPE.to_owned(), identity }.request(None).unwrap();
    let machine = of(AzureIdentity::Machine { endpoint: "http://169.254.169.254".to_owned(), client: None });
    assert_eq!(
        text(&machine),
        "GET http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fcognitiveservices.azure.com\nmetadata: true\n\n"
    );
    let service = of(AzureIdentity::AppService {
        endpoint: "http://127.0.0.1:41/msi/token".to_owned(),
        secret: "h".into(),
        client: Some("c".to_owned()),
    });
    assert_eq!(
        text(&service),
        "GET http://127.0.0.1:41/msi/token?api-version=2019-08-01&resource=https%3A%2F%2Fcognitiveservices.azure.com&client_id=c\nx-identity-header: h\n\n"
    );
}

#[test]
fn ibm_exchanges_an_api_key() {
    let source = IbmSource { api_key: "k-1".into(), url: super::ibm::IAM.to_owned() };
    assert_eq!(
        text(&source.request().unwrap()),
        "POST https://iam.cloud.ibm.com/identity/token\ncontent-type: application/x-www-form-urlencoded\n\ngrant_type=urn%3Aibm%3Aparams%3Aoauth%3Agrant-type%3Aapikey&apikey=k-1"
    );
    let refused = IbmSource::read(
        400,
        br#"{"errorCode":"BXNIM0415E","errorMessage":"Provided API key could not be found."}"#,
        NOW_MS,
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the token service answered HTTP 400: BXNIM0415E: Provided API key could not be found."
    );
}

#[test]
fn a_token_ends_when_its_answer_says_in_any_of_three_ways() {
    for (answer, end) in [
        (r#"{"access_token":"t","expires_in":3599,"token_type":"Bearer"}"#, Some(NOW_MS + 3_599_000)),
        (r#"{"access_token":"t","expires_in":"86399","expires_on":"1"}"#, Some(NOW_MS + 86_399_000)),
        (r#"{"access_token":"t","expires_on":"1796043600"}"#, Some(1_796_043_600_000)),
        (r#"{"access_token":"t","expiration":1796043600}"#, Some(1_796_043_600_000)),
        (r#"{"access_token":"t"}"#, None),
    ] {
        let fetched = AzureSource::read(200, answer.as_bytes(), NOW_MS).unwrap();
        assert_eq!((bearer(&fetched), fetched.expires_at_ms), ("Bearer t", end), "{answer}");
    }
    for broken in ["", "<html>", "{}", r#"{"access_token":7}"#, r#"{"access_token":"a\nb"}"#] {
        assert!(AzureSource::read(200, broken.as_bytes(), NOW_MS).is_err(), "{broken}");
    }
    let refused = r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret sk-canary-123456 provided."}"#;
    let said = AzureSource::read(401, refused.as_bytes(), NOW_MS).unwrap_err().to_string();
    assert!(
        said.contains("invalid_client") && said.contains("AADSTS7000215") && !said.contains("canary"),
        "{said}"
    );
}

#[test]
fn equal_sources_have_one_name_and_no_secret_is_shown() {
    let of =
        |key: &str| CredentialSource::Ibm(IbmSource { api_key: key.into(), url: super::ibm::IAM.to_owned() });
    assert_eq!(of("canary-1").id(), of("canary-1").id());
    assert_ne!(of("canary-1").id(), of("canary-2").id());
    let google = CredentialSource::Google(GoogleSource::Inline("canary".into()));
    let azure = CredentialSource::Azure(entra(AzureProof::Secret("canary".into())));
    assert_ne!(azure.id(), CredentialSource::Azure(entra(AzureProof::Secret("other".into()))).id());
    let shown =
        format!("{:?} {google:?} {azure:?} {:?}", of("canary-1"), Credential::bearer(&"canary".into()));
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn an_ended_credential_is_told_from_a_forbidden_one() {
    let mut headers = http::HeaderMap::new();
    assert!(is_rejected(401, &headers) && !is_rejected(403, &headers) && !is_rejected(500, &headers));
    headers.insert("x-amzn-errortype", "ExpiredTokenException:http://x".parse().unwrap());
    assert!(is_rejected(403, &headers) && !is_rejected(400, &headers));
    headers.insert("x-amzn-errortype", "AccessDeniedException".parse().unwrap());
    assert!(!is_rejected(403, &headers));
    assert!(web_token(b" \n", None).is_err() && web_token(br#"{"a":1}"#, Some("a")).is_err());
}
